"""Weights hashed from tensor names, the project's own recipe for tests (src/weights/hashed_weights.h)."""
import math
import re

import numpy
import torch

_NORM = re.compile(r'(^|\.)(q_norm|k_norm|token_norm|trunk_norm|norm1|norm2|norm)\.(weight|bias)$')
_LEARNT_TOKENS = {'camera_token', 'register_token', 'scale_token'}
_EMBEDDINGS = {'cls_token', 'register_tokens', 'pos_embed'}


def _units(seed, name, count):
    """`count` numbers in [-1, 1): SplitMix64 from the FNV-1a hash of the name."""
    base = 0xcbf29ce484222325
    for byte in f'{seed}/{name}'.encode():
        base = (base ^ byte) * 0x100000001b3 & 0xffffffffffffffff
    with numpy.errstate(over='ignore'):
        z = numpy.arange(count, dtype=numpy.uint64) + numpy.uint64((base + 0x9E3779B97F4A7C15) & 0xffffffffffffffff)
        z = (z ^ (z >> numpy.uint64(30))) * numpy.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> numpy.uint64(27))) * numpy.uint64(0x94D049BB133111EB)
        z ^= z >> numpy.uint64(31)
    return (z >> numpy.uint64(40)).astype(numpy.float64) * 2.0 ** -23 - 1


def _scale_and_offset(name, shape, bias_offset):
    last = name.rsplit('.', 1)[-1]
    norm = _NORM.search(name)
    if norm:
        if norm.group(3) == 'bias':
            return 0.1, 0.0
        return (0.5, 2.0) if norm.group(2) == 'q_norm' else (0.25, 1.0)
    if last == 'gamma':
        return 0.2, 0.4
    if last in _LEARNT_TOKENS:
        return 1.0, 0.0
    if last in _EMBEDDINGS:
        return 0.5, 0.0
    if last == 'mask_token':
        return 0.0, 0.0
    if last == 'empty_pose_tokens':
        return 0.1, 0.0
    if len(shape) >= 2:
        transposed = re.search(r'resize_layers\.[01]\.weight$', name)
        fan = shape[0] if transposed else math.prod(shape[1:])
        gain = 0.3 if name.endswith('pose_branch.fc2.weight') else 0.5 if name.endswith('output_conv2.2.weight') else 1.0
        return numpy.float32(numpy.float32(math.sqrt(3 / fan)) * numpy.float32(gain)), 0.0
    return 0.1, bias_offset if name.endswith('pose_branch.fc2.bias') else 0.0


def hashed_weights(shapes, seed, bias_offset=1.0):
    """{name: tensor} for {name: shape}."""
    weights = {}
    for name, shape in shapes.items():
        scale, offset = (float(numpy.float32(x)) for x in _scale_and_offset(name, shape, bias_offset))
        values = _units(seed, name, math.prod(shape)) * scale + offset
        weights[name] = torch.from_numpy(values.astype(numpy.float32)).reshape(shape)
    return weights
