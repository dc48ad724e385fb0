"""Depth and poses judged by each other: what one frame sees must lie where another frame sees it."""
import torch
import torch.nn.functional as F


def unproject(data, frame):
    """Points [B, H, W, 3] of a frame of Sequences, in the first camera's frame."""
    height, width = data.depths.shape[2:]
    device = data.depths.device
    rows, cols = torch.arange(height, device=device).float(), torch.arange(width, device=device).float()
    v, u = torch.meshgrid(rows, cols, indexing='ij')
    half = torch.tensor([width / 2, height / 2], device=device)
    tangents = torch.tan(data.poses[:, frame, 7:].flip(-1) / 2)[:, None, None]  # horizontal, vertical
    z = data.depths[:, frame, ..., None]
    local = torch.cat([(torch.stack([u, v], -1) - half) / half * tangents * z, z], -1)
    return local @ data.rotations[:, frame, None].transpose(-1, -2) + data.poses[:, frame, None, None, :3]


def reprojection_error(data, source, target):
    """Median relative difference between depth seen in one frame and carried over into another; [B], NaN where
    the frames see nothing in common."""
    height, width = data.depths.shape[2:]
    device = data.depths.device
    half = torch.tensor([width / 2, height / 2], device=device)
    seen = (unproject(data, source) - data.poses[:, target, None, None, :3]) @ data.rotations[:, target, None]
    ahead = seen[..., 2]
    tangents = torch.tan(data.poses[:, target, 7:].flip(-1) / 2)[:, None, None]
    pixel = seen[..., :2] / ahead[..., None] / tangents * half + half
    size = torch.tensor([width - 1, height - 1], device=device)
    inside = (ahead > 0.05) & ((pixel > 0) & (pixel < size)).all(-1)
    there = F.grid_sample(data.depths[:, target, None], pixel / size * 2 - 1, align_corners=True)[:, 0]
    error = (there / ahead - 1).abs()
    return torch.stack([e[i].median() if i.any() else e.new_tensor(float('nan')) for e, i in zip(error, inside)])
