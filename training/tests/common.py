"""What several tests need: a tiny network whose outputs depend strongly on the past, and recordings."""
import math
from pathlib import Path

import torch

from gct.hashed import hashed_weights
from gct.model.config import Config
from gct.model.network import GeometricContextTransformer

ROOT = Path(__file__).resolve().parents[2]
RECORDINGS = ROOT.parent / 'shared' / 'golden'
TINY = Config(img_size=56, embed_dim=64, num_heads=1, vit_depth=1, depth=4, taps=(0, 1, 2, 3), camera_depth=1,
              camera_heads=2, dpt_features=16, dpt_channels=(8, 8, 16, 16), scale_frames=2, sliding_window=3)


def hashed_network(config, seed=1, bias_offset=1.0):
    network = GeometricContextTransformer(config)
    shapes = {name: tuple(t.shape) for name, t in network.state_dict().items()}
    network.load_state_dict(hashed_weights(shapes, seed, bias_offset))
    return network.eval()


def random_frames(count, height=56, width=56, seed=0):
    """[1, count, 3, H, W] in [0, 1]."""
    return torch.rand(1, count, 3, height, width, generator=torch.Generator().manual_seed(seed))


def relative(out, reference):
    """|out - reference| / |reference|; NaN stays NaN."""
    return ((out.double() - reference.double()).norm() / reference.double().norm()).item()


def quarter_turn(axis):
    """Rotation by 90 degrees about axis 0, 1 or 2, written down from the definition."""
    a, b = (axis + 1) % 3, (axis + 2) % 3
    matrix = torch.zeros(3, 3)
    matrix[axis, axis], matrix[b, a], matrix[a, b] = 1, 1, -1
    return matrix


HALF = math.sqrt(0.5)
