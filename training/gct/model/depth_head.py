"""Dense depth and confidence from the tapped patch tokens (DPT)."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


# Constant tables by their arguments. A plain dictionary: a compiler that traces the depth head takes what
# it finds here as inputs (fill it by one plain forward pass).
_tables = {}


def _table(make, *arguments):
    key = (make.__name__, *arguments)
    if key not in _tables:
        _tables[key] = make(*arguments)
    return _tables[key]


def _position_map(width, height, channels, aspect, device):
    """Sinusoidal map [1, channels, height, width]; the first half of the channels encodes x."""
    diagonal = math.sqrt(aspect * aspect + 1)

    def codes(count, span):
        end = span * (count - 1) / count
        place = torch.linspace(-end, end, count, device=device, dtype=torch.float64)
        order = torch.arange(channels // 4, device=device, dtype=torch.float64)
        angle = place[:, None] * 100.0 ** (-order / (channels / 4))
        return torch.cat([angle.sin(), angle.cos()], -1)

    x, y = codes(width, aspect / diagonal), codes(height, 1 / diagonal)
    grid = torch.cat([x[None].expand(height, -1, -1), y[:, None].expand(-1, width, -1)], -1)
    return grid.permute(2, 0, 1)[None].float()


def _resize_matrix(source, target, device):
    """[target, source]: bilinear interpolation with aligned corners as a matrix."""
    return F.interpolate(torch.eye(source)[None], size=target, mode='linear', align_corners=True)[0].T.contiguous().to(device)


def resize(x, size, as_products):
    """Bilinear with aligned corners. As two matrix products it has a backward pass without atomics, which
    is faster and repeatable; the plain form is the definition."""
    if not as_products:
        return F.interpolate(x, size=size, mode='bilinear', align_corners=True)
    count, channels, height, width = x.shape
    rows = _table(_resize_matrix, height, size[0], x.device).to(x.dtype)
    cols = _table(_resize_matrix, width, size[1], x.device).to(x.dtype)
    x = x.permute(0, 2, 3, 1)  # how convolutions leave it in memory on GPUs
    x = rows @ x.reshape(count, height, width * channels)
    x = cols @ x.reshape(count * size[0], width, channels)
    return x.reshape(count, size[0], size[1], channels).permute(0, 3, 1, 2)


class ResidualUnit(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(features, features, 3, 1, 1), nn.Conv2d(features, features, 3, 1, 1)

    def forward(self, x):
        rectified = F.relu(x)  # the residual too, as in the reference
        return rectified + self.conv2(F.relu(self.conv1(rectified)))


class Fusion(nn.Module):
    def __init__(self, features, lateral):
        super().__init__()
        if lateral:
            self.resConfUnit1 = ResidualUnit(features)
        self.resConfUnit2 = ResidualUnit(features)
        self.out_conv = nn.Conv2d(features, features, 1)

    def forward(self, x, lateral, size, as_products):
        if lateral is not None:
            x = x + self.resConfUnit1(lateral)
        return self.out_conv(resize(self.resConfUnit2(x), size, as_products))


class DepthHead(nn.Module):
    def __init__(self, config):
        super().__init__()
        dim, channels, features = 2 * config.embed_dim, config.dpt_channels, config.dpt_features
        self.patch = config.patch_size
        self.norm = nn.LayerNorm(dim)
        self.projects = nn.ModuleList(nn.Conv2d(dim, c, 1) for c in channels)
        self.resize_layers = nn.ModuleList([
            nn.ConvTranspose2d(channels[0], channels[0], 4, 4), nn.ConvTranspose2d(channels[1], channels[1], 2, 2),
            nn.Identity(), nn.Conv2d(channels[3], channels[3], 3, 2, 1)])
        self.scratch = nn.Module()
        for level in range(4):
            self.scratch.add_module(f'layer{level + 1}_rn', nn.Conv2d(channels[level], features, 3, 1, 1, bias=False))
            self.scratch.add_module(f'refinenet{level + 1}', Fusion(features, level < 3))
        self.scratch.output_conv1 = nn.Conv2d(features, features // 2, 3, 1, 1)
        self.scratch.output_conv2 = nn.Sequential(
            nn.Conv2d(features // 2, 32, 3, 1, 1), nn.ReLU(), nn.Conv2d(32, 2, 1))

    def _with_positions(self, x, aspect):
        table = _table(_position_map, x.shape[3], x.shape[2], x.shape[1], aspect, x.device)
        return x + 0.1 * table.to(x.dtype)

    def forward(self, taps, height, width):
        """Four taps [N, P, 2C] of patch tokens -> log depth and confidence logit, float32 [N, height, width]."""
        rows, cols, aspect, parts = height // self.patch, width // self.patch, width / height, self.scratch
        laterals = []
        for level, x in enumerate(taps):
            x = self.norm(x).transpose(1, 2).reshape(x.shape[0], -1, rows, cols)
            x = self.resize_layers[level](self._with_positions(self.projects[level](x), aspect))
            laterals.append(getattr(parts, f'layer{level + 1}_rn')(x))
        sizes = [tuple(2 * n for n in laterals[0].shape[2:])] + [l.shape[2:] for l in laterals[:3]]
        x = parts.refinenet4(laterals[3], None, sizes[3], self.training)
        for level in (2, 1, 0):
            x = getattr(parts, f'refinenet{level + 1}')(x, laterals[level], sizes[level], self.training)
        x = resize(parts.output_conv1(x), (height, width), self.training)
        x = parts.output_conv2(self._with_positions(x, aspect))
        return x[:, 0].float(), x[:, 1].float()
