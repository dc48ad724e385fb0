"""Image encoder (ViT) and the alternating frame and global blocks."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

from gct.model.attention import frame_rotary, global_rotary
from gct.model.blocks import Block
from gct.model.config import SPECIAL_TOKENS

IMAGE_MEAN, IMAGE_STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


class PatchEmbed(nn.Module):
    def __init__(self, dim, patch):
        super().__init__()
        self.proj = nn.Conv2d(3, dim, patch, patch)

    def forward(self, images):
        return self.proj(images).flatten(2).transpose(1, 2)


class VisionTransformer(nn.Module):
    REGISTERS = 4

    def __init__(self, config, scale):
        super().__init__()
        dim, side = config.embed_dim, config.grid_side
        self.side, self.patch = side, config.patch_size
        self.patch_embed = PatchEmbed(dim, config.patch_size)
        self.cls_token = nn.Parameter(0.02 * torch.randn(1, 1, dim))
        self.pos_embed = nn.Parameter(0.02 * torch.randn(1, 1 + side * side, dim))
        self.register_tokens = nn.Parameter(0.02 * torch.randn(1, self.REGISTERS, dim))
        # In the public checkpoint for pre-training only; nothing reads it here.
        self.mask_token = nn.Parameter(torch.zeros(1, dim), requires_grad=False)
        self.blocks = nn.ModuleList(
            Block(dim, config.num_heads, config.mlp_ratio, scale, 1e-6) for _ in range(config.vit_depth))
        self.norm = nn.LayerNorm(dim, eps=1e-6)

    def positions(self, rows, cols):
        """The position table [1, 1 + rows * cols, C], resized bicubically with antialiasing."""
        table = self.pos_embed.float()
        if (rows, cols) == (self.side, self.side):
            return table
        grid = table[:, 1:].reshape(1, self.side, self.side, -1).permute(0, 3, 1, 2)
        grid = F.interpolate(grid, size=(rows, cols), mode='bicubic', antialias=True)
        return torch.cat([table[:, :1], grid.flatten(2).transpose(1, 2)], 1)

    def forward(self, images, run):
        """[N, 3, H, W], normalised -> patch tokens [N, P, C]."""
        count, _, height, width = images.shape
        positions = self.positions(height // self.patch, width // self.patch)
        x = torch.cat([(self.cls_token + positions[:, :1]).expand(count, -1, -1),
                       self.register_tokens.expand(count, -1, -1), self.patch_embed(images) + positions[:, 1:]], 1)
        for block in self.blocks:
            x = run(block, x)
        return self.norm(x)[:, 1 + self.REGISTERS:]


class Aggregator(nn.Module):
    def __init__(self, config, scale):
        super().__init__()
        self.config = config
        dim = config.embed_dim

        def make_blocks():
            return nn.ModuleList(Block(dim, config.num_heads, config.mlp_ratio, scale, 1e-5, normalised=True)
                                 for _ in range(config.depth))

        self.patch_embed = VisionTransformer(config, scale)
        self.frame_blocks, self.global_blocks = make_blocks(), make_blocks()
        self.camera_token = nn.Parameter(0.5 * torch.randn(1, 2, 1, dim))
        self.register_token = nn.Parameter(0.5 * torch.randn(1, 2, SPECIAL_TOKENS - 2, dim))
        self.scale_token = nn.Parameter(0.5 * torch.randn(1, 2, 1, dim))
        self.register_buffer('mean', torch.tensor(IMAGE_MEAN).view(1, 3, 1, 1), persistent=False)
        self.register_buffer('std', torch.tensor(IMAGE_STD).view(1, 3, 1, 1), persistent=False)

    def special_tokens(self, first, count):
        """[count, 6, C] of frames first, first + 1, ... of a stream."""
        frame = torch.arange(first, first + count, device=self.camera_token.device)
        later, scaled = (frame > 0).long(), (frame >= self.config.scale_frames).long()
        return torch.cat([self.camera_token[0, later], self.register_token[0, later], self.scale_token[0, scaled]], 1)

    def embed(self, images, first, functions):
        """Images [B, S, 3, H, W] in [0, 1] of frames first, ... -> tokens [B * S, T, C]."""
        batch, frames = images.shape[:2]
        x = self.patch_embed((images.flatten(0, 1) - self.mean) / self.std, functions.vit)
        special = self.special_tokens(first, frames)[None].expand(batch, -1, -1, -1).flatten(0, 1)
        return torch.cat([special.to(x.dtype), x], 1)

    def rotary(self, times, height, width):
        """Tables of the frame blocks and of the global blocks."""
        rows, cols = height // self.config.patch_size, width // self.config.patch_size
        head_dim = self.config.embed_dim // self.config.num_heads
        return frame_rotary(rows, cols, head_dim, times.device), global_rotary(times, rows, cols, times.device)

    def forward(self, images, mask, times, functions):
        """All frames at once under `mask`; taps: list of (frame block's, global block's) tokens [B, S, T, C]."""
        batch, frames, _, height, width = images.shape
        tokens = self.config.tokens(height, width)
        frame_tables, global_tables = self.rotary(times, height, width)
        x, taps = self.embed(images, 0, functions), []
        for index, (frame, global_) in enumerate(zip(self.frame_blocks, self.global_blocks)):
            within = functions.frame(frame, x.reshape(batch * frames, tokens, -1), *frame_tables)
            x = functions.globals(global_, within.reshape(batch, frames * tokens, -1), *global_tables, mask)
            if index in self.config.taps:
                taps.append((within.reshape(batch, frames, tokens, -1), x.reshape(batch, frames, tokens, -1)))
        return taps
