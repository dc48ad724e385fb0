"""Builds renderer.cu for a device and calls it on tensors."""
import ctypes
import functools
import hashlib
import os
import subprocess
import tempfile
from pathlib import Path

import torch

from gct.data.rooms import CAMERA_FLOATS, LAYOUT, SCENE_FLOATS

SOURCE = Path(__file__).with_name('renderer.cu')


def build_command(cuda, output):
    if cuda:
        major, minor = torch.cuda.get_device_capability()
        return ['nvcc', '-O3', f'-arch=sm_{major}{minor}', '--use_fast_math', '-shared', '-Xcompiler', '-fPIC',
                str(SOURCE), '-o', output]
    return ['g++', '-O2', '-fopenmp', '-shared', '-fPIC', '-x', 'c++', str(SOURCE), '-o', output]


@functools.lru_cache(maxsize=None)
def library(cuda):
    """The renderer for CUDA or CPU, built once for each version of the source (in GCT_BUILD or the user's cache)."""
    folder = Path(os.environ.get('GCT_BUILD', Path.home() / '.cache' / 'lingbot-training'))
    folder.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256(SOURCE.read_bytes()).hexdigest()[:16]
    path = folder / f'renderer-{"cuda" if cuda else "cpu"}-{digest}.so'
    if not path.exists():
        with tempfile.TemporaryDirectory(dir=folder) as scratch:  # several processes may build at once
            built = os.path.join(scratch, 'renderer.so')
            subprocess.run(build_command(cuda, built), check=True)
            os.replace(built, path)
    lib = ctypes.CDLL(str(path))
    layout = (ctypes.c_int * len(LAYOUT))()
    lib.RendererLayout(layout)
    if tuple(layout) != LAYOUT:
        raise RuntimeError(f'renderer.cu and rooms.py disagree on the layout: {tuple(layout)} and {LAYOUT}')
    return lib


def _pointer(tensor, dtype):
    if not tensor.is_contiguous() or tensor.dtype != dtype:
        raise ValueError(f'expected a contiguous {dtype} tensor, got {tensor.dtype} {tuple(tensor.shape)}')
    return ctypes.c_void_p(tensor.data_ptr())


def _call(name, device, *arguments):
    stream = torch.cuda.current_stream().cuda_stream if device.type == 'cuda' else 0
    status = getattr(library(device.type == 'cuda'), name)(*arguments, ctypes.c_void_p(stream))
    if status != 0:
        raise RuntimeError(f'{name} failed with CUDA error {status}')


def _check(scenes, cameras):
    if scenes.shape[1:] != (SCENE_FLOATS,) or cameras.shape[2:] != (CAMERA_FLOATS,) or len(scenes) != len(cameras):
        raise ValueError(f'scenes {tuple(scenes.shape)} and cameras {tuple(cameras.shape)} do not fit together')


def render_colour(scenes, cameras, height, width, zoom, samples, seed):
    """uint8 [B, S, 3, zoom * height, zoom * width]; samples per side and pixel."""
    _check(scenes, cameras)
    count, frames = cameras.shape[:2]
    colour = torch.empty(count, frames, 3, zoom * height, zoom * width, dtype=torch.uint8, device=cameras.device)
    _call('RenderColour', cameras.device, _pointer(scenes, torch.float32), _pointer(cameras, torch.float32),
          _pointer(colour, torch.uint8), count * frames, frames, height, width, zoom, samples,
          ctypes.c_uint32(seed & 0xffffffff))
    return colour


def render_depth(scenes, cameras, height, width):
    """z of the nearest surface, float32 [B, S, height, width], on the pixel grid of docs/conventions.md."""
    _check(scenes, cameras)
    count, frames = cameras.shape[:2]
    depth = torch.empty(count, frames, height, width, dtype=torch.float32, device=cameras.device)
    _call('RenderDepth', cameras.device, _pointer(scenes, torch.float32), _pointer(cameras, torch.float32),
          _pointer(depth, torch.float32), count * frames, frames, height, width)
    return depth


def compress(colour, steps):
    """In place what a video codec does to the frames; steps [B]: quantiser step in grey levels, 0 = none."""
    count, frames, _, height, width = colour.shape
    _call('CompressFrames', colour.device, _pointer(colour, torch.uint8), _pointer(steps, torch.float32),
          count * frames, frames, height, width)
    return colour


def resize(colour, zoom, blurs):
    """[B, S, 3, H, W] -> [B, S, 3, H / zoom, W / zoom], bicubic and antialiased; blurs [B]: kernel widths, 1 = exact."""
    count, frames, _, height, width = colour.shape
    out = torch.empty(count, frames, 3, height // zoom, width // zoom, dtype=torch.uint8, device=colour.device)
    _call('ResizeFrames', colour.device, _pointer(colour, torch.uint8), _pointer(out, torch.uint8),
          _pointer(blurs, torch.float32), count * frames, frames, height // zoom, width // zoom, zoom)
    return out
