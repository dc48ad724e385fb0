"""Attention, rotary positions, and the mask that makes one pass over a sequence equal to streaming.

The engine keeps, for each global block, the patch tokens of the scale frames and of the last
`sliding_window` frames, and the special tokens of every frame. Which token sees which is therefore
known beforehand, and a sequence can be trained on in one pass with that as a mask.
"""
import functools
import math

import torch
import torch.nn.functional as F

from gct.model.config import SPECIAL_TOKENS

try:
    from torch.nn.attention.flex_attention import BlockMask, create_block_mask, flex_attention
except ImportError:  # PyTorch below 2.5: dense masks only

    class BlockMask:
        pass

    create_block_mask = flex_attention = None


def attend(q, k, v, mask=None):
    """Scaled dot-product attention over [batch, heads, tokens, channels].

    mask: None, a boolean [queries, keys] tensor (True = visible), or a block mask.
    """
    if isinstance(mask, BlockMask):
        return flex_attention(q, k, v, block_mask=mask)
    if hasattr(F, 'scaled_dot_product_attention'):
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    logits = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    if mask is not None:
        logits = logits.masked_fill(~mask, float('-inf'))
    return logits.softmax(-1) @ v


def visible(query, key, special, scale_frames, window):
    """May frame `query` see a token of frame `key`? special: is it a special token. Broadcasts."""
    together = (query < scale_frames) & (key < scale_frames)
    past = (key <= query) & (query >= scale_frames)
    return together | (past & (special | (key < scale_frames) | (query - key < window)))


def dense_mask(frames, tokens, scale_frames, window, device):
    """Boolean [frames * tokens, frames * tokens] for the global blocks."""
    index = torch.arange(frames * tokens, device=device)
    frame, special = index // tokens, index % tokens < SPECIAL_TOKENS
    return visible(frame[:, None], frame[None], special[None], scale_frames, window)


def block_mask(frames, tokens, scale_frames, window, device):
    """The same for flex_attention, which skips blocks without a visible pair."""

    def rule(batch, head, query, key):
        return visible(query // tokens, key // tokens, key % tokens < SPECIAL_TOKENS, scale_frames, window)

    return create_block_mask(rule, None, None, frames * tokens, frames * tokens, device=device)


def camera_mask(frames, scale_frames, device):
    """Boolean [frames, frames] for the camera head, whose caches are never evicted."""
    index = torch.arange(frames, device=device)
    always = torch.ones((), dtype=torch.bool, device=device)
    return visible(index[:, None], index[None], always, scale_frames, 1)


# --- rotary positions --------------------------------------------------------------------------

def _grid(rows, cols, device):
    """[rows * cols, 2] row and column of the patches, row by row."""
    index = torch.arange(rows * cols, device=device)
    return torch.stack([index // cols, index % cols], -1)


@functools.lru_cache(maxsize=64)
def frame_rotary(rows, cols, head_dim, device):
    """Cosines and sines [T, head_dim] of the frame blocks: row and column, base 100, halves rotated."""
    quarter = head_dim // 4
    frequency = 100.0 ** (-torch.arange(quarter, device=device, dtype=torch.float64) / quarter)
    special = torch.zeros(SPECIAL_TOKENS, 2, dtype=torch.long, device=device)
    place = torch.cat([special, _grid(rows, cols, device) + 1])
    row, col = place[:, :1] * frequency, place[:, 1:] * frequency
    angle = torch.cat([row, row, col, col], -1)
    return angle.cos().float(), angle.sin().float()


def global_rotary(times, rows, cols, device, parts=(20, 22, 22)):
    """Cosines and sines [S * T, head_dim / 2] of the global blocks: time, row, column, base 10000.

    times: [S] time indices. Angles are computed in double: they grow with the stream.
    """
    frequencies = [10000.0 ** (-torch.arange(0, d, 2, device=device, dtype=torch.float64) / d) for d in parts]
    special = torch.arange(SPECIAL_TOKENS, device=device)[:, None].expand(-1, 2)
    # A special token sits at row s, column s; patch (r, c) at row 6 + r, column 6 + c.
    place = torch.cat([special, _grid(rows, cols, device) + SPECIAL_TOKENS])
    count, tokens = times.shape[0], place.shape[0]
    angle = torch.cat([
        (times.double()[:, None] * frequencies[0])[:, None].expand(count, tokens, -1),
        (place[:, :1] * frequencies[1])[None].expand(count, -1, -1),
        (place[:, 1:] * frequencies[2])[None].expand(count, -1, -1)], -1).flatten(0, 1)
    return angle.cos().float(), angle.sin().float()


def rotate_halves(x, cos, sin):
    """Frame blocks: in each half of the channels, channel j pairs with j + a quarter."""
    a, b, c, d = x.chunk(4, -1)
    return x * cos + torch.cat([-b, a, -d, c], -1) * sin


def rotate_pairs(x, cos, sin):
    """Global blocks: channels 2j and 2j + 1 pair."""
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack([a * cos - b * sin, a * sin + b * cos], -1).flatten(-2)
