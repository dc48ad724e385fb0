#!/usr/bin/env python3
"""Runs the tests of this folder; exit code 77, with a line that says so, where PyTorch is not installed.

  ./run.py                      all
  ./run.py test_rotations ...   some
"""
import importlib.util
import sys
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
SKIPPED = 77


def main():
    for package in ('torch', 'numpy'):
        if importlib.util.find_spec(package) is None:
            print(f'skipped: the Python package {package} is not installed')
            return SKIPPED
    sys.dont_write_bytecode = True
    sys.path[:0] = [str(HERE.parent), str(HERE)]
    import torch
    torch.set_num_threads(1)
    loader = unittest.TestLoader()
    names = sys.argv[1:]
    suite = loader.loadTestsFromNames(names) if names else loader.discover(str(HERE), 'test_*.py', str(HERE))
    result = unittest.TextTestRunner(verbosity=2).run(suite)
    return 0 if result.wasSuccessful() and result.testsRun else 1


if __name__ == '__main__':
    sys.exit(main())
