"""The whole network: a sequence in one pass under the streaming mask."""
import math
from collections import namedtuple

import torch
import torch.nn as nn

from gct.model.attention import camera_mask
from gct.model.backbone import Aggregator
from gct.model.blocks import BlockFunctions
from gct.model.camera_head import CameraHead
from gct.model.config import SPECIAL_TOKENS
from gct.model.depth_head import DepthHead

# poses: raw estimates of all passes, list of [B, S, 9]; log_depths, confidence_logits: [B, K, H, W]; taps: see Aggregator
Prediction = namedtuple('Prediction', 'poses log_depths confidence_logits taps')


class GeometricContextTransformer(nn.Module):
    def __init__(self, config, layer_scale=0.5):
        super().__init__()
        self.config = config
        self.aggregator = Aggregator(config, layer_scale)
        self.camera_head = CameraHead(config, layer_scale)
        self.depth_head = DepthHead(config)
        self._initialise()

    def _initialise(self):
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.trunc_normal_(module.weight, std=0.5 / math.sqrt(module.weight.shape[1]))
                nn.init.zeros_(module.bias)
        nn.init.normal_(self.camera_head.pose_branch.fc2.weight, std=0.002)
        nn.init.normal_(self.camera_head.embed_pose.weight, std=0.3)

    def forward(self, images, mask, times, depth_frames=None, amp=False, functions=None, depth_head=None):
        """images: [B, S, 3, H, W] in [0, 1]; mask: of attention.py; times: [S] time indices;
        depth_frames: [B, K] frames whose depth is wanted, None for all; amp: bfloat16 where it is harmless;
        functions, depth_head: compiled twins of the blocks and of the depth head."""
        functions = functions or BlockFunctions()
        batch, frames, _, height, width = images.shape
        with torch.autocast(images.device.type, dtype=torch.bfloat16, enabled=amp):
            taps = self.aggregator(images, mask, times, functions)
            wanted = [_patches(a, b, depth_frames) for a, b in taps]
            log_depths, logits = (depth_head or self.depth_head)(wanted, height, width)
        camera = torch.cat([t[:, :, 0] for t in taps[-1]], -1).float()
        with torch.autocast(images.device.type, enabled=False):
            poses = self.camera_head(camera, camera_mask(frames, self.config.scale_frames, images.device), functions)
        shape = (batch, -1, height, width)
        return Prediction(poses, log_depths.reshape(shape), logits.reshape(shape), taps)


def _patches(frame_tokens, global_tokens, depth_frames):
    """Patch tokens [B * K, P, 2C] of one tap."""
    if depth_frames is None:
        parts = (frame_tokens[:, :, SPECIAL_TOKENS:], global_tokens[:, :, SPECIAL_TOKENS:])
    else:
        sequence = torch.arange(frame_tokens.shape[0], device=frame_tokens.device)[:, None]
        parts = (frame_tokens[sequence, depth_frames, SPECIAL_TOKENS:], global_tokens[sequence, depth_frames, SPECIAL_TOKENS:])
    return torch.cat(parts, -1).flatten(0, 1)
