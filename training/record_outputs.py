#!/usr/bin/env python3
"""Records what the PyTorch network computes frame by frame, for the engine to be compared with (golden_check --model).

  ./record_outputs.py ../models/nano.safetensors ../models/nano_recorded.safetensors

Float32 arithmetic on the weights as stored, on frames of a sample clip that reach past the eviction of the window.
"""
import argparse
import json
import subprocess
from pathlib import Path

import torch

from evaluate import load_network
from gct.checkpoint import read_safetensors, write_safetensors
from gct.data import renderer
from gct.model.camera_head import activate
from gct.model.config import SPECIAL_TOKENS
from gct.model.streaming import Stream

CLIP = Path(__file__).resolve().parent.parent / 'samples' / 'loop' / 'video.mp4'


def read_frames(clip, height, width, zoom, every, count):
    """uint8 [count, 3, height, width] of every `every`-th frame of a video `zoom` times as large."""
    command = ['ffmpeg', '-loglevel', 'error', '-i', str(clip), '-f', 'rawvideo', '-pix_fmt', 'rgb24', '-']
    data = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
    frames = torch.frombuffer(bytearray(data), dtype=torch.uint8).reshape(-1, zoom * height, zoom * width, 3)
    frames = frames[::every][:count].permute(0, 3, 1, 2).contiguous()
    if len(frames) < count:
        raise ValueError(f'{clip} has only {len(frames)} such frames, {count} are wanted')
    return renderer.resize(frames[None], zoom, torch.ones(1))[0]


def cache_row(stream, page_tokens):
    """Stored frames, scale and window pages, special tokens, time index, special pages, tokens in the last of these."""
    block = stream.blocks[0]
    special = sum(key.shape[2] for key, _ in block.special)
    pages = -(-special // page_tokens)
    return [stream.frames, len(block.scale), len(block.window), special, stream.frames, pages,
            special - (pages - 1) * page_tokens]


def record(network, frames, keep_depth, probes):
    """frames: [n, 3, H, W], uint8 or in [0, 1]; probes: {frame: names}. Tensors of the recording."""
    config, count, (height, width) = network.config, len(frames), frames.shape[2:]
    tensors, poses, depths, confidences, rows, seen = {'images': frames}, [], {}, {}, [], {}
    images = frames.float() / 255 if frames.dtype == torch.uint8 else frames
    stream = Stream(network, lambda name, value: seen.__setitem__(name, value))
    page_tokens = config.tokens(height, width) - SPECIAL_TOKENS  # a page holds the patch tokens of one frame
    first = config.scale_frames
    for begin, end in [(0, first)] + [(i, i + 1) for i in range(first, count)]:
        passes, log_depth, logit = stream.step(images[None, begin:end])
        poses.append(activate(passes[-1])[0])
        rows.append(cache_row(stream, page_tokens))
        for frame in range(begin, end):
            if frame in keep_depth:
                depths[frame] = log_depth[0, frame - begin].exp()
                confidences[frame] = 1 + logit[0, frame - begin].exp()
            for name in probes.get(frame, ()):
                value = seen[name][0, frame - begin]
                tensors[f'probe.{frame}.{name}'] = activate(value) if name.startswith('pose_iter') else value.clone()
    tensors.update(pose_enc=torch.cat(poses), depth=torch.stack([depths[f] for f in keep_depth]),
                   depth_conf=torch.stack([confidences[f] for f in keep_depth]),
                   cache_stats=torch.tensor(rows, dtype=torch.int32))
    return tensors


def metadata_for(network, frames, keep_depth, probes):
    entries = json.loads(network.config.metadata())
    entries.update(height=frames.shape[2], width=frames.shape[3], frames=len(frames), keyframe_interval=1,
                   keep_depth=list(keep_depth), probe_frames=sorted(probes))
    return {'config': json.dumps(entries)}


def chosen_probes(config, frames):
    """All passes of the pose and a few inner results, of a scale frame and of the last frame."""
    passes = [f'pose_iter.{turn}' for turn in range(config.camera_iterations)]
    last = config.depth - 1
    return {1: passes + [f'global_block.{last}'],
            frames - 1: passes + ['patch_tokens', 'global_block.0', f'frame_block.{last}', f'global_block.{last}']}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('model', type=Path)
    parser.add_argument('out', type=Path)
    parser.add_argument('--clip', type=Path, default=CLIP)
    parser.add_argument('--frames', type=int, default=24)
    parser.add_argument('--every', type=int, default=2, help='take every n-th frame of the clip')
    arguments = parser.parse_args()
    _, stated = read_safetensors(arguments.model)
    network = load_network(arguments.model, torch.device('cpu'))
    size = json.loads(stated['config'])
    frames = read_frames(arguments.clip, size['height'], size['width'], 2, arguments.every, arguments.frames)
    keep = [network.config.scale_frames - 1, arguments.frames // 2, arguments.frames - 1]
    probes = chosen_probes(network.config, arguments.frames)
    write_safetensors(arguments.out, record(network, frames, keep, probes),
                      metadata_for(network, frames, keep, probes))
    print(f'{arguments.out}: {arguments.frames} frames, {arguments.out.stat().st_size / 1e6:.2f} MB')


if __name__ == '__main__':
    main()
