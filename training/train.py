#!/usr/bin/env python3
"""Trains the network on procedural rooms and evaluates it. See README.md.

  ./train.py --minutes 9 --phases 16:16:0.4,32:8:0.6 --out run1
  ./train.py --minutes 9 --phases 64:4:0.4,96:3:0.6 --decay-from 0.3 --resume run1 --out run2 --seed 2

One process a GPU, all GPUs of the machine; without a GPU a few tiny steps on the CPU are possible.
"""
import time

START = time.time()

import argparse
from pathlib import Path

import torch

from gct.checkpoint import read_checkpoint
from gct.model.config import Config, config_from_tensors
from gct.train.processes import launch
from gct.train.trainer import Phase, Settings, Trainer


def parse_phases(text):
    """FRAMES:BATCH:SHARE,... -> phases; the shares are parts of the time and add up to 1."""
    phases = []
    for part in text.split(','):
        frames, batch, share = part.split(':')
        phases.append(Phase(int(frames), int(batch), float(share)))
    if abs(sum(p.share for p in phases) - 1) > 1e-6:
        raise argparse.ArgumentTypeError('the shares of the phases must add up to 1')
    return phases


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--minutes', type=float, default=9.0, help='for the whole run, compilation included')
    parser.add_argument('--phases', type=parse_phases, default='16:16:0.25,32:8:0.25,64:4:0.25,96:3:0.25',
                        help='FRAMES:BATCH:SHARE,... batch is for one process')
    parser.add_argument('--out', type=Path, required=True, help='folder for weights and log')
    parser.add_argument('--resume', type=Path, help='folder or checkpoint to go on from; also a released one, to fine-tune')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--decay-from', type=float, default=1.0, help='part of the time after which learning rates fall')
    parser.add_argument('--rate', type=float, default=1.2e-3, help='learning rate of AdamW')
    parser.add_argument('--matrix-rate', type=float, default=3e-3, help='learning rate of Muon')
    parser.add_argument('--matching-until', type=float, default=1.0)
    parser.add_argument('--size', type=int, nargs=2, default=(126, 168), metavar=('HEIGHT', 'WIDTH'))
    parser.add_argument('--scale-frames', type=int, help='instead of what the checkpoint says')
    parser.add_argument('--window', type=int, help='likewise, the sliding window')
    parser.add_argument('--gpus', type=int, default=torch.cuda.device_count())
    return parser.parse_args()


def make_config(arguments):
    given = {'scale_frames': arguments.scale_frames, 'sliding_window': arguments.window}
    given = {key: value for key, value in given.items() if value is not None}
    if arguments.resume is None:
        return Config(**given)
    tensors, metadata = read_checkpoint(arguments.resume)
    return config_from_tensors({n: tuple(t.shape) for n, t in tensors.items()}, metadata, **given)


def work(device, rank, world, arguments, start):
    settings = Settings(arguments.phases, 60 * arguments.minutes, arguments.out, *arguments.size,
                        matrix_rate=arguments.matrix_rate, rate=arguments.rate, decay_from=arguments.decay_from,
                        matching_until=arguments.matching_until, seed=arguments.seed)
    trainer = Trainer(make_config(arguments), settings, device, rank, world, arguments.resume, start)
    trainer.run()
    trainer.validate()


def main():
    arguments = parse_arguments()
    launch(work, arguments.gpus, arguments, START)


if __name__ == '__main__':
    main()
