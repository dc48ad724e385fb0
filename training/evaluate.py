#!/usr/bin/env python3
"""Judges a checkpoint on held-out sequences, in float32, with the weights as they are stored (bfloat16 by default).

  ./evaluate.py ../models/nano.safetensors                   the test set: 32 sequences of 96 frames
  ./evaluate.py run1 --set validation --out validation.json
"""
import argparse
import json
from pathlib import Path

import torch

from gct.checkpoint import read_checkpoint
from gct.evaluation import LENGTHS, TEST_SEED, VALIDATION_SEED, evaluate, held_out, per_sequence
from gct.model.config import config_from_tensors
from gct.model.network import GeometricContextTransformer
from gct.train.trainer import split_auxiliary

SEEDS = {'test': TEST_SEED, 'validation': VALIDATION_SEED}


def load_network(path, device, bfloat16=True):
    tensors, metadata = read_checkpoint(path)
    tensors, _ = split_auxiliary(tensors)
    network = GeometricContextTransformer(config_from_tensors({n: tuple(t.shape) for n, t in tensors.items()}, metadata))
    if bfloat16:
        tensors = {name: tensor.bfloat16().float() for name, tensor in tensors.items()}
    network.load_state_dict(tensors)
    return network.to(device).eval()


def table(result):
    columns = ('absrel', 'delta', 'rotation_median', 'ate', 'field_median', 'absrel_constant_depth',
               'rotation_median_static', 'ate_static', 'ate_straight_line')
    lines = ['frames  ' + '  '.join(columns)]
    for length, scores in result.items():
        lines.append(f'{length:6d}  ' + '  '.join(f'{scores[c]:{len(c)}.4f}' for c in columns))
    return '\n'.join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('checkpoint', type=Path)
    parser.add_argument('--set', choices=SEEDS, default='test')
    parser.add_argument('--count', type=int, default=32)
    parser.add_argument('--frames', type=int, default=96)
    parser.add_argument('--float32', action='store_true', help='weights as they are, not rounded to bfloat16')
    parser.add_argument('--out', type=Path, help='JSON file for all numbers')
    arguments = parser.parse_args()
    device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')
    network = load_network(arguments.checkpoint, device, not arguments.float32)
    data = held_out(network.config, 126, 168, SEEDS[arguments.set], arguments.count, arguments.frames, device)
    result, poses, depths = evaluate(network, data, LENGTHS, with_baselines=True)
    print(table(result))
    if arguments.out:
        rows = per_sequence(poses, depths, data)
        arguments.out.write_text(json.dumps({'set': arguments.set, 'seed': SEEDS[arguments.set], 'lengths': result,
                                             'sequences': rows}, indent=1) + '\n')


if __name__ == '__main__':
    main()
