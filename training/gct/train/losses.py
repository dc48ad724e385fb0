"""What the network is trained to minimise."""
import torch
import torch.nn as nn
import torch.nn.functional as F

from gct.model.config import SPECIAL_TOKENS
from gct.rotations import matrix_from_quaternion

PASS_DECAY = 0.6          # weight of a refinement pass relative to the next one
RELATIVE_GAPS = (1, 4, 16)
FLOW_GAPS = (1, 4)
STATISTICS = ('loss', 'translation', 'quaternion', 'field', 'relative', 'depth', 'point', 'flow1', 'flow4')


def pose_loss(estimates, poses):
    """L1 of all passes. Fields of view are compared before the rectifier, which could otherwise die."""
    total, weights, parts = 0.0, 0.0, None
    for index, raw in enumerate(estimates):
        weight = PASS_DECAY ** (len(estimates) - 1 - index)
        translation = (raw[..., :3] - poses[..., :3]).abs().mean()
        same = (raw[..., 3:7] - poses[..., 3:7]).abs().mean(-1)
        opposite = (raw[..., 3:7] + poses[..., 3:7]).abs().mean(-1)  # q and -q are one rotation
        quaternion = torch.minimum(same, opposite).mean()
        field = (raw[..., 7:] - poses[..., 7:]).abs().mean()
        parts = translation, quaternion, field
        total, weights = total + weight * (translation + 3 * quaternion + 0.5 * field), weights + weight
    return total / weights, parts


def relative_pose_loss(raw, poses, rotations):
    """L1 of the motion between frames some gaps apart, which drift does not hide."""
    estimated = matrix_from_quaternion(raw[..., 3:7])

    def motion(rotation, centre, gap):
        back = rotation[:, :-gap].transpose(-1, -2)
        return back @ rotation[:, gap:], (back @ (centre[:, gap:] - centre[:, :-gap])[..., None])[..., 0]

    total = 0.0
    for gap in (g for g in RELATIVE_GAPS if g < raw.shape[1]):
        turn, shift = motion(estimated, raw[..., :3], gap)
        true_turn, true_shift = motion(rotations, poses[..., :3], gap)
        total = total + (turn - true_turn).abs().mean() + (shift - true_shift).abs().mean()
    return total


def depth_loss(log_depths, logits, depths):
    """L1 of the log depth weighted with the confidence, which costs its logarithm; and of its gradients."""
    error = log_depths - depths.clamp(min=1e-3).log()
    confidence = 1 + logits.clamp(max=8).exp()
    weighted = (confidence * error.abs() - 0.2 * confidence.log()).mean()

    def steps(e):
        return (e[..., 1:] - e[..., :-1]).abs(), (e[..., 1:, :] - e[..., :-1, :]).abs()

    fine = sum(s.clamp(max=0.5).mean() for s in steps(error))
    coarse = sum(s.mean() for s in steps(F.avg_pool2d(error, 4)))
    return weighted + fine + 0.5 * coarse, error.detach().abs().mean()


class MatchingHead(nn.Module):
    """Auxiliary, not part of the checkpoint: from the patch tokens of two taps, each patch's point in the
    first camera and its displacement to the frames one and four earlier. Dense targets of this kind make
    the attention find correspondences early."""
    TAPS = (1, 3)

    def __init__(self, config):
        super().__init__()
        outputs = 3 + 2 * len(FLOW_GAPS)
        self.norms = nn.ModuleList(nn.LayerNorm(2 * config.embed_dim) for _ in self.TAPS)
        self.heads = nn.ModuleList(nn.Linear(2 * config.embed_dim, outputs) for _ in self.TAPS)
        for head in self.heads:
            nn.init.normal_(head.weight, std=0.01)
            nn.init.zeros_(head.bias)

    def forward(self, taps):
        """Taps of the aggregator -> list of [B, S, P, 7]."""
        chosen = [torch.cat([t[:, :, SPECIAL_TOKENS:].float() for t in taps[i]], -1) for i in self.TAPS]
        return [head(norm(x)) for norm, head, x in zip(self.norms, self.heads, chosen)]


def patch_targets(poses, rotations, depths, patch):
    """Points [B, S, P, 3] in the first camera, and for each gap displacements [B, S - gap, P, 2] in half
    widths of the image with a 0/1 mask of those that stay near the image."""
    batch, frames, height, width = depths.shape
    middle = patch // 2
    x = torch.arange(middle, width, patch, device=depths.device).float() / (width / 2) - 1
    y = torch.arange(middle, height, patch, device=depths.device).float() / (height / 2) - 1
    grid = torch.stack([x[None].expand(len(y), -1), y[:, None].expand(-1, len(x))], -1).reshape(-1, 2)
    z = depths[:, :, middle::patch, middle::patch].reshape(batch, frames, -1)
    tangents = torch.tan(poses[..., 7:].flip(-1) / 2)[:, :, None]  # horizontal, vertical
    local = torch.cat([grid * tangents * z[..., None], z[..., None]], -1)
    points = local @ rotations.transpose(-1, -2) + poses[:, :, None, :3]
    flows = []
    for gap in FLOW_GAPS:
        seen = (points[:, gap:] - poses[:, :-gap, None, :3]) @ rotations[:, :-gap]
        ahead = seen[..., 2:]
        shift = seen[..., :2] / ahead.clamp(min=0.05) / tangents[:, :-gap] - grid
        valid = (ahead[..., 0] > 0.1) & (shift.abs().amax(-1) < 1.0)
        flows.append((shift, valid.float()))
    return points, flows


def matching_loss(outputs, poses, rotations, depths, patch):
    points, flows = patch_targets(poses, rotations, depths, patch)
    total, parts = 0.0, None
    for output in outputs:
        point = (output[..., :3] - points).abs().mean()
        errors = []
        for index, (gap, (shift, valid)) in enumerate(zip(FLOW_GAPS, flows)):
            error = (output[:, gap:, :, 3 + 2 * index:5 + 2 * index] - shift).abs().sum(-1)
            errors.append((error * valid).sum() / valid.sum().clamp(min=1))
        parts = point, *errors
        total = total + point + 3 * errors[0] + 2 * errors[1]
    return total / len(outputs), parts


def total_loss(prediction, matches, poses, rotations, depths, depth_frames, matching_weight, patch):
    """Scalar loss and its parts, stacked in the order of STATISTICS."""
    camera, (translation, quaternion, field) = pose_loss(prediction.poses, poses)
    relative = relative_pose_loss(prediction.poses[-1], poses, rotations)
    sequence = torch.arange(len(poses), device=poses.device)[:, None]
    depth, error = depth_loss(prediction.log_depths, prediction.confidence_logits, depths[sequence, depth_frames])
    matching, (point, flow1, flow4) = matching_loss(matches, poses, rotations, depths, patch)
    main = 5 * camera + 2.5 * relative + depth
    parts = torch.stack([main, translation, quaternion, field, relative, error, point, flow1, flow4])
    return main + matching_weight * matching, parts.detach()
