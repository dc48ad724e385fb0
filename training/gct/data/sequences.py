"""Sequences to train on and to be judged by: frames as the engine would read them, and their truth."""
from dataclasses import dataclass

import torch

from gct.data import renderer
from gct.data.paths import Random
from gct.data.rooms import sample_scenes
from gct.rotations import quaternion_from_matrix

ZOOM = 2  # videos have twice the resolution of the network's input


@dataclass
class Sequences:
    """B sequences of S frames. Lengths are in units of the mean depth over the scale frames."""
    images: torch.Tensor     # uint8 [B, S, 3, H, W]
    poses: torch.Tensor      # [B, S, 9] translation, quaternion x y z w, fields of view (vertical, horizontal)
    rotations: torch.Tensor  # [B, S, 3, 3] first camera from camera
    depths: torch.Tensor     # [B, S, H, W]
    kinds: torch.Tensor      # [B] index into paths.KINDS

    def tensors(self):
        return self.images, self.poses, self.rotations, self.depths, self.kinds


def ground_truth(cameras, fields, depths, scale_frames):
    """Poses in the first camera's frame and in units of the mean depth over the scale frames."""
    count, frames = cameras.shape[:2]
    rotation, centre = cameras[..., :9].reshape(count, frames, 3, 3), cameras[..., 9:12]
    unit = depths[:, :scale_frames].mean((1, 2, 3))
    first = rotation[:, :1].transpose(-1, -2)
    rotations = first @ rotation
    translation = (first @ (centre - centre[:, :1])[..., None])[..., 0] / unit[:, None, None]
    fields = fields[:, None].expand(count, frames, 2)
    poses = torch.cat([translation, quaternion_from_matrix(rotations), fields], -1)
    return poses, rotations, depths / unit[:, None, None, None]


def sample_degradation(generator, count):
    """Quantiser steps and blurs [count]: two thirds of the videos are compressed, a third is a little soft."""
    r = Random(generator)
    steps = r.uniform(2.0, 20.0, count) * (r.uniform(0, 1, count) < 0.67)
    blurs = 1 + r.uniform(0.0, 0.5, count) * (r.uniform(0, 1, count) < 0.33)
    return steps, blurs


def render(scenes, cameras, steps, blurs, height, width, seed):
    video = renderer.render_colour(scenes, cameras, height, width, ZOOM, 1, seed)
    return renderer.resize(renderer.compress(video, steps), ZOOM, blurs)


def make_sequences(scenes, cameras, fields, kinds, steps, blurs, height, width, scale_frames, seed):
    images = render(scenes, cameras, steps, blurs, height, width, seed)
    depths = renderer.render_depth(scenes, cameras, height, width)
    return Sequences(images, *ground_truth(cameras, fields, depths, scale_frames), kinds)


def fixed_sequences(count, frames, height, width, scale_frames, seed, device, kind=None):
    """The sequences of a seed, the same on every machine up to rounding: numbers are drawn on the CPU."""
    generator = torch.Generator().manual_seed(seed)
    scenes, cameras, fields, kinds = sample_scenes(generator, count, frames, height, width, kind)
    steps, blurs = sample_degradation(generator, count)
    parts = [t.to(device).contiguous() for t in (scenes, cameras, fields, kinds, steps, blurs)]
    return make_sequences(*parts, height, width, scale_frames, seed)


class SequenceStream:
    """Endless random batches on one device. Scenes are drawn for several batches at once: drawing is many
    small operations, whose launches would otherwise cost more than the rendering."""

    def __init__(self, batch, frames, height, width, scale_frames, seed, device, draw=8):
        self.batch, self.frames, self.size, self.scale_frames = batch, frames, (height, width), scale_frames
        self.generator = torch.Generator(device=device).manual_seed(seed)
        self.draw, self.waiting, self.seed = draw, [], seed

    def next(self):
        if not self.waiting:
            count = self.batch * self.draw
            parts = sample_scenes(self.generator, count, self.frames, *self.size)
            parts += sample_degradation(self.generator, count)
            self.waiting = list(zip(*(p.contiguous().split(self.batch) for p in parts)))
        self.seed = (self.seed * 1664525 + 1013904223) & 0xffffffff
        return make_sequences(*self.waiting.pop(), *self.size, self.scale_frames, self.seed)
