#!/usr/bin/env python3
"""Renders the clips of samples/: three seeds that no training and no test uses, on the CPU, in about two minutes."""
import argparse
from pathlib import Path

import torch

from gct.data.rooms import sample_scenes
from gct.data.video import write_clip

HEIGHT, WIDTH, FRAMES = 126, 168, 96
# name: kind of path (gct/data/paths.py), seed, frames a round trip takes, metres a knot of 6 frames
CLIPS = {
    'room': ('orbit', 910004, None, 0.35),
    'two-rooms': ('two_rooms', 910005, None, 0.30),
    'loop': ('loop', 910005, FRAMES - 1, None),
}


def make_scene(kind, seed, period, speed):
    generator = torch.Generator().manual_seed(seed)
    scene, camera, _, _ = sample_scenes(generator, 1, FRAMES, HEIGHT, WIDTH, kind, period, speed)
    camera[..., 15] = 0.006  # a quiet sensor
    return scene, camera


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--out', type=Path, default=Path(__file__).resolve().parent.parent / 'samples')
    parser.add_argument('names', nargs='*', default=list(CLIPS), help='clips to render')
    arguments = parser.parse_args()
    for name in arguments.names:
        kind, seed, period, speed = CLIPS[name]
        scene, camera = make_scene(kind, seed, period, speed)
        description = {'seed': seed, 'kind': kind, 'frames': FRAMES, 'frames_per_second': 30}
        write_clip(arguments.out / name, scene, camera, HEIGHT, WIDTH, seed, description)
        size = sum(f.stat().st_size for f in (arguments.out / name).rglob('*') if f.is_file())
        print(f'{name}: {size / 1e6:.2f} MB')


if __name__ == '__main__':
    main()
