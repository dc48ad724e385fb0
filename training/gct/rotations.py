"""Rotations: quaternions x y z w (of the rotation world from camera), matrices, angles."""
import math

import torch

DEGREE = math.pi / 180


def matrix_from_quaternion(q):
    """[..., 4] of any length but 0 -> [..., 3, 3], normalised by the squared norm as in the engine."""
    x, y, z, w = q.unbind(-1)
    s = 2.0 / (q * q).sum(-1).clamp(min=1e-8)
    rows = [1 - s * (y * y + z * z), s * (x * y - z * w), s * (x * z + y * w),
            s * (x * y + z * w), 1 - s * (x * x + z * z), s * (y * z - x * w),
            s * (x * z - y * w), s * (y * z + x * w), 1 - s * (x * x + y * y)]
    return torch.stack(rows, -1).reshape(*q.shape[:-1], 3, 3)


def quaternion_from_matrix(m):
    """[..., 3, 3] -> [..., 4], unit, w >= 0.

    The outer product q q^T is linear in the matrix; its column with the largest diagonal entry is q
    up to a well-conditioned factor.
    """
    m00, m01, m02, m10, m11, m12, m20, m21, m22 = m.flatten(-2).unbind(-1)
    xx, yy, zz, ww = 1 + m00 - m11 - m22, 1 - m00 + m11 - m22, 1 - m00 - m11 + m22, 1 + m00 + m11 + m22
    xy, xz, yz = m01 + m10, m02 + m20, m12 + m21
    xw, yw, zw = m21 - m12, m02 - m20, m10 - m01
    outer = torch.stack([xx, xy, xz, xw, xy, yy, yz, yw, xz, yz, zz, zw, xw, yw, zw, ww], -1)
    outer = outer.reshape(*m.shape[:-2], 4, 4)
    best = torch.stack([xx, yy, zz, ww], -1).argmax(-1)
    q = torch.gather(outer, -2, best[..., None, None].expand(*best.shape, 1, 4)).squeeze(-2)
    q = q / q.norm(dim=-1, keepdim=True)
    return torch.where(q[..., 3:] < 0, -q, q)


def matrix_from_angles(yaw, pitch, roll):
    """Camera to world for OpenCV axes (y down): about y, then x, then z; radians, any shape."""
    cy, sy, cp, sp, cr, sr = yaw.cos(), yaw.sin(), pitch.cos(), pitch.sin(), roll.cos(), roll.sin()
    rows = [cy * cr + sy * sp * sr, -cy * sr + sy * sp * cr, sy * cp,
            cp * sr, cp * cr, -sp,
            -sy * cr + cy * sp * sr, sy * sr + cy * sp * cr, cy * cp]
    return torch.stack(rows, -1).reshape(*yaw.shape, 3, 3)


def angle_between(a, b):
    """Degrees between two rotations, [..., 3, 3]."""
    trace = (a * b).sum((-1, -2))
    return torch.acos(((trace - 1) / 2).clamp(-1, 1)) / DEGREE


def wrap(angle):
    """Into [-pi, pi)."""
    return torch.remainder(angle + math.pi, 2 * math.pi) - math.pi
