"""How good poses and depth are, and how good trivial answers would be."""
import torch

from gct.rotations import DEGREE, angle_between, matrix_from_quaternion

RELATIVE_GAP = 8


def align_similarity(points, targets):
    """Points [B, S, 3] brought to the targets by the best similarity (Umeyama 1991), in double."""
    points, targets = points.double(), targets.double()
    point_mean, target_mean = points.mean(1, keepdim=True), targets.mean(1, keepdim=True)
    p, q = points - point_mean, targets - target_mean
    u, s, vh = torch.linalg.svd(q.transpose(1, 2) @ p / points.shape[1])
    sign = torch.ones_like(s)
    sign[:, 2] = torch.det(u @ vh).sign()
    rotation = u @ torch.diag_embed(sign) @ vh
    scale = (s * sign).sum(-1) / p.square().sum(-1).mean(1).clamp(min=1e-12)
    return scale[:, None, None] * (p @ rotation.transpose(1, 2)) + target_mean


def path_length(centres):
    return (centres[:, 1:] - centres[:, :-1]).norm(dim=-1).sum(1)


def trajectory_error(centres, truth):
    """Root mean square position error after similarity alignment, as a part of the path; [B]."""
    error = (align_similarity(centres, truth) - truth).square().sum(-1).mean(1).sqrt()
    return (error / path_length(truth)).float()


def depth_errors(depths, truth):
    """[B, S, H, W] -> AbsRel and share within a factor of 1.25, [B]; after one median scale a sequence."""
    absrel, share = [], []
    for estimate, target in zip(depths, truth):
        ratio = estimate / target
        ratio = ratio / ratio.median()
        absrel.append((ratio - 1).abs().mean())
        share.append(((ratio < 1.25) & (ratio > 0.8)).float().mean())
    return torch.stack(absrel), torch.stack(share)


def rotation_errors(rotations, truth):
    """Degrees [B, S - 1], relative to the first frame."""
    return angle_between(rotations[:, :1].transpose(-1, -2) @ rotations, truth)[:, 1:]


def gap_errors(rotations, truth):
    gap = min(RELATIVE_GAP, rotations.shape[1] - 1)
    motion = lambda r: r[:, :-gap].transpose(-1, -2) @ r[:, gap:]
    return angle_between(motion(rotations), motion(truth))


def pose_summary(centres, rotations, data):
    """Means and medians over sequences; rotations [B, S, 3, 3]."""
    errors = rotation_errors(rotations, data.rotations)
    ate = trajectory_error(centres, data.poses[..., :3])
    return {'rotation_median': errors.median().item(), 'rotation_mean': errors.mean().item(),
            'rotation_gap8_median': gap_errors(rotations, data.rotations).median().item(),
            'ate': ate.mean().item(), 'ate_median': ate.median().item(), 'ate_worst': ate.max().item()}


def summary(poses, depths, data, length):
    """Of predictions [B, S, 9] and [B, S, H, W] over the first `length` frames."""
    data = first_frames(data, length)
    poses, depths = poses[:, :length].float(), depths[:, :length]
    result = pose_summary(poses[..., :3], matrix_from_quaternion(poses[..., 3:7]), data)
    absrel, share = depth_errors(depths, data.depths)
    unscaled = (depths / data.depths - 1).abs().mean()
    field = ((poses[..., 7:].clamp(min=0) - data.poses[..., 7:]).abs() / DEGREE).median()
    result.update(absrel=absrel.mean().item(), absrel_worst=absrel.max().item(), delta=share.mean().item(),
                  absrel_unscaled=unscaled.item(), field_median=field.item())
    return {name: round(value, 5) for name, value in result.items()}


def first_frames(data, length):
    return type(data)(data.images[:, :length], data.poses[:, :length], data.rotations[:, :length],
                      data.depths[:, :length], data.kinds)


def baselines(data, length):
    """Answers that need no network: constant depth, a camera that stands still, and the best straight line
    at constant speed, which the alignment (an oracle) puts where it fits best."""
    data = first_frames(data, length)
    truth = data.poses[..., :3]
    absrel, share = depth_errors(torch.ones_like(data.depths), data.depths)
    still = (truth - truth.mean(1, keepdim=True)).square().sum(-1).mean(1).sqrt() / path_length(truth)
    line = torch.zeros_like(truth)
    line[..., 0] = torch.arange(length, device=truth.device)
    # The alignment needs three dimensions; a ten-millionth of the path does not help a line.
    line += 1e-7 * length * torch.randn(line.shape, generator=torch.Generator().manual_seed(0)).to(line.device)
    errors = rotation_errors(torch.eye(3, device=truth.device).expand_as(data.rotations), data.rotations)
    result = {'absrel_constant_depth': absrel.mean(), 'delta_constant_depth': share.mean(),
              'rotation_median_static': errors.median(), 'ate_static': still.mean(),
              'ate_straight_line': trajectory_error(line, truth).mean(), 'path_in_depths': path_length(truth).mean()}
    return {name: round(value.item(), 5) for name, value in result.items()}
