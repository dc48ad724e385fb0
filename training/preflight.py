#!/usr/bin/env python3
"""Looks before a long run: renderer, mask, speed and memory of every phase. Minutes, not hours.

  ./preflight.py check                        renderer against itself, mask against streaming
  ./preflight.py time 16:24,16:16,96:4 5      seconds of training at each FRAMES:BATCH, all GPUs
"""
import os
import sys
import tempfile
import time
import traceback
from pathlib import Path

import torch
import torch.distributed as distributed

from gct.data.reprojection import reprojection_error
from gct.data.sequences import SequenceStream, fixed_sequences
from gct.evaluation import predict
from gct.model.attention import attend, block_mask, dense_mask
from gct.model.config import Config
from gct.model.network import GeometricContextTransformer
from gct.model.streaming import Stream
from gct.train.processes import launch
from gct.train.trainer import Phase, Settings, Trainer

HEIGHT, WIDTH = 126, 168
DEVICE = torch.device('cuda' if torch.cuda.is_available() else 'cpu')


def check():
    data = fixed_sequences(32, 16, HEIGHT, WIDTH, 4, 99, DEVICE)
    error = reprojection_error(data, 0, 9)
    print(f'renderer: reprojected depth, median of medians {error.nanmedian():.1e}; depth {data.depths.min():.3f} to '
          f'{data.depths.max():.1f}; mean grey {data.images.float().mean():.0f}')
    if DEVICE.type == 'cuda':
        host = fixed_sequences(2, 4, HEIGHT, WIDTH, 4, 98, torch.device('cpu'))
        here = fixed_sequences(2, 4, HEIGHT, WIDTH, 4, 98, DEVICE)
        grey = (here.images.cpu().float() - host.images.float()).abs()
        print(f'GPU against CPU: grey levels median {grey.median():.1f} mean {grey.mean():.2f}, depth relative median '
              f'{(here.depths.cpu() / host.depths - 1).abs().median():.1e}')
    torch.manual_seed(0)
    network = GeometricContextTransformer(Config()).to(DEVICE).eval()
    images = data.images[:2]
    poses, depths = predict(network, images)
    streamed, log_depths, _ = Stream(network).run(images.float() / 255)
    print(f'mask against stream: pose {(poses - streamed).abs().max():.1e}, depth relative '
          f'{(depths / log_depths.exp() - 1).abs().max():.1e}')
    if DEVICE.type == 'cuda':
        dense = dense_mask(16, 114, 4, 8, DEVICE)
        blocks = block_mask(16, 114, 4, 8, DEVICE)
        q, k, v = (torch.randn(1, 3, 16 * 114, 64, device=DEVICE, dtype=torch.bfloat16) for _ in range(3))
        flexible = torch.compile(attend, dynamic=False)(q, k, v, blocks)
        print(f'block mask against dense mask: {(flexible.float() - attend(q, k, v, dense).float()).abs().max():.1e}')
        stream = SequenceStream(24, 16, HEIGHT, WIDTH, 4, 5, DEVICE)
        for _ in range(3):
            stream.next()
        torch.cuda.synchronize()
        begun = time.time()
        for _ in range(16):
            stream.next()
        torch.cuda.synchronize()
        print(f'data: {(time.time() - begun) / 16 * 1e3:.2f} ms for 384 frames')


def time_phases(device, rank, world, shapes, seconds):
    settings = Settings([], 1.0, Path(tempfile.mkdtemp()), HEIGHT, WIDTH)
    trainer = Trainer(Config(), settings, device, rank, world)
    for frames, batch in shapes:
        torch.cuda.reset_peak_memory_stats()
        stepper = trainer.stepper(Phase(frames, batch, 1.0), frames * 1000 + batch)
        trainer.optimizer.set_rates(settings.matrix_rate, settings.rate)
        for _ in range(5):
            stepper.step()
        torch.cuda.synchronize()
        stepper.statistics()
        steps = 40
        begun = time.time()
        for _ in range(steps):
            stepper.step()
        torch.cuda.synchronize()
        each = (time.time() - begun) / steps
        begun = time.time()
        for _ in range(20):
            stepper.graphs[0].replay()
        torch.cuda.synchronize()
        forward = (time.time() - begun) / 20
        begun = time.time()
        for _ in range(20):
            stepper.graphs[1].replay()
        torch.cuda.synchronize()
        update = (time.time() - begun) / 20
        stepper.statistics()
        trainer.align()  # the updates above took the processes apart
        rounds = torch.tensor([int(seconds / each)], device=device)  # the same in all processes
        if world > 1:
            distributed.broadcast(rounds, 0)
        trainer.log('time', processes=world, frames=frames, batch=batch, ms=round(each * 1e3, 1),
                    ms_backward=round(forward * 1e3, 1), ms_update=round(update * 1e3, 1),
                    sequences_per_s=round(batch * world / each, 1), frames_per_s=round(frames * batch * world / each),
                    memory_gib=round(torch.cuda.max_memory_allocated() / 2 ** 30, 1))
        for part in range(2):
            for _ in range(int(rounds.item()) // 2):
                stepper.step()
            torch.cuda.synchronize()
            trainer.log('train', **stepper.statistics())
        stepper = None
    trainer.log('spread', largest=trainer.align())
    trainer.validate()


def main():
    if sys.argv[1:2] == ['check']:
        try:
            check()
        except Exception:  # the timing is worth having all the same
            traceback.print_exc()
        return
    shapes = [tuple(int(n) for n in part.split(':')) for part in sys.argv[2].split(',')]
    launch(time_phases, int(os.environ.get('GPUS', torch.cuda.device_count())), shapes, float(sys.argv[3]))


if __name__ == '__main__':
    main()
