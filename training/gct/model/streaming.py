"""Frame by frame with explicit caches, as the engine computes: the twin that the mask is checked against."""
from dataclasses import dataclass, field

import torch

from gct.model.attention import attend, rotate_pairs
from gct.model.blocks import BlockFunctions, frame_block
from gct.model.config import SPECIAL_TOKENS


@dataclass
class BlockCache:
    """Keys and values of one global block."""
    scale: list = field(default_factory=list)    # patch tokens of the scale frames
    window: list = field(default_factory=list)   # patch tokens of the last frames
    special: list = field(default_factory=list)  # special tokens of all frames

    def append(self, k, v, frames, tokens, window, is_scale):
        """k, v: [B, heads, frames * tokens, D]."""
        split = lambda t: t.unflatten(2, (frames, tokens)).unbind(2)
        for key, value in zip(split(k), split(v)):
            self.special.append((key[:, :, :SPECIAL_TOKENS], value[:, :, :SPECIAL_TOKENS]))
            (self.scale if is_scale else self.window).append((key[:, :, SPECIAL_TOKENS:], value[:, :, SPECIAL_TOKENS:]))
        del self.window[:-window]

    def visible(self):
        entries = self.scale + self.window + self.special
        return torch.cat([k for k, _ in entries], 2), torch.cat([v for _, v in entries], 2)


class Stream:
    """One stream over a batch of clips. Every frame is stored."""

    def __init__(self, network, probe=None):
        """probe: called with (name, tensor [B, n, ...]) for intermediate results of a step."""
        self.network, self.config, self.probe = network, network.config, probe or (lambda name, value: None)
        self.functions = BlockFunctions()
        self.frames = 0
        self.blocks = [BlockCache() for _ in range(self.config.depth)]
        self.cameras = {}

    @torch.no_grad()
    def step(self, images):
        """The next frames [B, n, 3, H, W]: all scale frames in the first call, then one at a time.

        Returns raw poses of all passes, log depth and confidence logit [B, n, H, W].
        """
        batch, count, _, height, width = images.shape
        network, taps = self.network, self._aggregate(images)
        poses = network.camera_head.passes_over(torch.cat([t[:, :, 0] for t in taps[-1]], -1), self._camera_block)
        patches = [torch.cat([a[:, :, SPECIAL_TOKENS:], b[:, :, SPECIAL_TOKENS:]], -1).flatten(0, 1) for a, b in taps]
        depth, confidence = network.depth_head(patches, height, width)
        for turn, pose in enumerate(poses):
            self.probe(f'pose_iter.{turn}', pose)
        self.frames += count
        return poses, depth.reshape(batch, count, height, width), confidence.reshape(batch, count, height, width)

    def _aggregate(self, images):
        batch, count, _, height, width = images.shape
        aggregator, tokens = self.network.aggregator, self.config.tokens(height, width)
        x = aggregator.embed(images, self.frames, self.functions)
        per_frame = lambda t: t.reshape(batch, count, tokens, -1)
        self.probe('patch_tokens', per_frame(x)[:, :, SPECIAL_TOKENS:])
        times = torch.arange(self.frames, self.frames + count, device=images.device)
        frame_tables, global_tables = aggregator.rotary(times, height, width)
        taps = []
        for index in range(self.config.depth):
            within = frame_block(aggregator.frame_blocks[index], x.reshape(batch * count, tokens, -1), *frame_tables)
            x = self._global_block(index, within.reshape(batch, count * tokens, -1), global_tables, count, tokens)
            self.probe(f'frame_block.{index}', per_frame(within))
            self.probe(f'global_block.{index}', per_frame(x))
            if index in self.config.taps:
                taps.append((per_frame(within), per_frame(x)))
        return taps

    def _global_block(self, index, x, tables, count, tokens):
        block, cache = self.network.aggregator.global_blocks[index], self.blocks[index]
        q, k, v = block.attn.project(block.norm1(x), rotate_pairs, tables)
        cache.append(k, v, count, tokens, self.config.sliding_window, self.frames == 0)
        return block.finish(x, attend(q, *cache.visible()))

    def _camera_block(self, turn, index, block, x):
        q, k, v = block.attn.project(block.norm1(x))
        past = self.cameras.get((turn, index))
        if past is not None:
            k, v = torch.cat([past[0], k], 2), torch.cat([past[1], v], 2)
        self.cameras[turn, index] = (k, v)
        return block.finish(x, attend(q, k, v))

    def run(self, images):
        """A whole clip [B, S, 3, H, W]: raw poses of the last pass [B, S, 9], log depth and logit [B, S, H, W]."""
        first = min(self.config.scale_frames, images.shape[1])
        parts = [self.step(images[:, :first])]
        parts += [self.step(images[:, i:i + 1]) for i in range(first, images.shape[1])]
        return tuple(torch.cat([pick(part) for part in parts], 1)
                     for pick in (lambda p: p[0][-1], lambda p: p[1], lambda p: p[2]))
