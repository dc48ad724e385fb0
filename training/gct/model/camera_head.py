"""Poses from the camera tokens, refined in several passes. Always in float32."""
import torch
import torch.nn as nn
import torch.nn.functional as F

from gct.model.blocks import Block, Mlp

POSE = 9  # translation, quaternion x y z w, fields of view (vertical, horizontal; radians)


class CameraHead(nn.Module):
    def __init__(self, config, scale):
        super().__init__()
        dim = 2 * config.embed_dim
        self.passes = config.camera_iterations
        self.trunk = nn.ModuleList(
            Block(dim, config.camera_heads, config.mlp_ratio, scale, 1e-5) for _ in range(config.camera_depth))
        self.token_norm, self.trunk_norm = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.empty_pose_tokens = nn.Parameter(torch.zeros(1, 1, POSE))
        self.embed_pose = nn.Linear(POSE, dim)
        self.poseLN_modulation = nn.Sequential(nn.SiLU(), nn.Linear(dim, 3 * dim))
        self.pose_branch = Mlp(dim, dim // 2, POSE)

    def refine(self, tokens, pose, run):
        """One pass: the change of the raw estimate [B, S, 9]. run(index of the block, block, x)."""
        shift, scale, gate = self.poseLN_modulation(self.embed_pose(pose)).chunk(3, -1)
        x = gate * (F.layer_norm(tokens, tokens.shape[-1:], eps=1e-6) * (1 + scale) + shift) + tokens
        for index, block in enumerate(self.trunk):
            x = run(index, block, x)
        return self.pose_branch(self.trunk_norm(x))

    def passes_over(self, tokens, run):
        """Raw estimates after each pass, list of [B, S, 9]; run(pass, index of the block, block, x)."""
        tokens = self.token_norm(tokens)
        pose, estimates = None, []
        for turn in range(self.passes):
            given = self.empty_pose_tokens.expand(*tokens.shape[:2], POSE) if pose is None else pose.detach()
            change = self.refine(tokens, given, lambda *arguments: run(turn, *arguments))
            pose = change if pose is None else given + change
            estimates.append(pose)
        return estimates

    def forward(self, tokens, mask, functions):
        """Camera tokens [B, S, 2C], float32; mask [S, S]."""
        return self.passes_over(tokens, lambda turn, index, block, x: functions.camera(block, x, mask))


def activate(raw):
    """What the engine reports for a raw estimate: fields of view are not negative."""
    return torch.cat([raw[..., :7], F.relu(raw[..., 7:])], -1)
