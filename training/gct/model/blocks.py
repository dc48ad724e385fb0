"""Transformer blocks. The module holds the parameters; the functions below say how each kind uses them,
so that a trainer can compile the functions once for all blocks of a kind."""
import torch
import torch.nn as nn
import torch.nn.functional as F

from gct.model.attention import attend, rotate_halves, rotate_pairs


class LayerScale(nn.Module):
    def __init__(self, dim, value):
        super().__init__()
        self.gamma = nn.Parameter(torch.full((dim,), float(value)))

    def forward(self, x):
        return x * self.gamma


class Attention(nn.Module):
    def __init__(self, dim, heads, normalised):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)
        if normalised:
            self.q_norm, self.k_norm = nn.LayerNorm(dim // heads), nn.LayerNorm(dim // heads)
        self.normalised = normalised

    def project(self, x, rotate=None, rotary=None):
        """[B, N, C] -> q, k, v, each [B, heads, N, C / heads]; q and k normalised and rotated where asked."""
        batch, count, dim = x.shape
        q, k, v = self.qkv(x).reshape(batch, count, 3, self.heads, dim // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        if self.normalised:
            q, k = self.q_norm(q), self.k_norm(k)
        if rotate is not None:
            q, k = rotate(q, *rotary), rotate(k, *rotary)
        return q.to(v.dtype), k.to(v.dtype), v

    def merge(self, heads):
        """[B, heads, N, D] -> [B, N, C]."""
        return self.proj(heads.transpose(1, 2).flatten(2))


class Mlp(nn.Module):
    def __init__(self, dim, hidden, out):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(dim, hidden), nn.Linear(hidden, out)

    def forward(self, x):
        return self.fc2(F.gelu(self.fc1(x)))


class Block(nn.Module):
    def __init__(self, dim, heads, ratio, scale, eps, normalised=False):
        super().__init__()
        self.norm1, self.attn, self.ls1 = nn.LayerNorm(dim, eps=eps), Attention(dim, heads, normalised), LayerScale(dim, scale)
        self.norm2, self.mlp, self.ls2 = nn.LayerNorm(dim, eps=eps), Mlp(dim, ratio * dim, dim), LayerScale(dim, scale)

    def finish(self, x, heads):
        """What follows the attention."""
        x = x + self.ls1(self.attn.merge(heads))
        return x + self.ls2(self.mlp(self.norm2(x)))


def vit_block(block, x):
    return block.finish(x, attend(*block.attn.project(block.norm1(x))))


def frame_block(block, x, cos, sin):
    return block.finish(x, attend(*block.attn.project(block.norm1(x), rotate_halves, (cos, sin))))


def global_block(block, x, cos, sin, mask):
    return block.finish(x, attend(*block.attn.project(block.norm1(x), rotate_pairs, (cos, sin)), mask))


def camera_block(block, x, mask):
    return block.finish(x, attend(*block.attn.project(block.norm1(x)), mask))


class BlockFunctions:
    """The functions that a network calls; a trainer puts compiled ones here."""

    def __init__(self):
        self.vit, self.frame, self.globals, self.camera = vit_block, frame_block, global_block, camera_block
