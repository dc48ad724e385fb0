"""Sizes of a network: what tensors tell, and what only the metadata of a checkpoint can."""
import json
import math
from dataclasses import asdict, dataclass

SPECIAL_TOKENS = 6  # camera, four registers, scale
RELEASED_DEPTH, RELEASED_TAPS, RELEASED_CAMERA_HEADS = 24, (4, 11, 17, 23), 16


@dataclass(frozen=True)
class Config:
    """Defaults: the small network that ships with the project."""
    img_size: int = 168          # side that the position table is made for
    patch_size: int = 14
    embed_dim: int = 192
    num_heads: int = 3
    vit_depth: int = 4
    depth: int = 6               # pairs of a frame block and a global block
    taps: tuple = (1, 2, 3, 5)   # pairs that feed the heads
    mlp_ratio: int = 4
    camera_depth: int = 2
    camera_heads: int = 6
    camera_iterations: int = 4
    dpt_features: int = 64
    dpt_channels: tuple = (48, 96, 192, 192)
    scale_frames: int = 4
    sliding_window: int = 8

    @property
    def grid_side(self):
        return self.img_size // self.patch_size

    def tokens(self, height, width):
        """Tokens of a frame."""
        return SPECIAL_TOKENS + (height // self.patch_size) * (width // self.patch_size)

    def metadata(self):
        """The checkpoint's metadata entry "config": what the engine reads (src/model/config.cc) and checks."""
        entries = asdict(self)
        entries.pop('mlp_ratio')
        return json.dumps(entries)


def config_from_tensors(shapes, metadata=None, **overrides):
    """Config from the shapes of a checkpoint's tensors ({name: shape}) and its metadata, if any.

    A checkpoint without metadata is taken for one of the released architecture.
    """
    stated = json.loads((metadata or {}).get('config', '{}'))

    def blocks(prefix):
        return len({name[len(prefix):].split('.')[0] for name in shapes if name.startswith(prefix)})

    width, _, patch, _ = shapes['aggregator.patch_embed.patch_embed.proj.weight']
    side = math.isqrt(shapes['aggregator.patch_embed.pos_embed'][1] - 1)
    depth = blocks('aggregator.global_blocks.')
    if 'taps' not in stated and depth != RELEASED_DEPTH:
        raise ValueError(f'the checkpoint has {depth} block pairs and no metadata that says which feed the heads')
    told = dict(
        img_size=side * patch, patch_size=patch, embed_dim=width,
        num_heads=width // shapes['aggregator.global_blocks.0.attn.q_norm.weight'][0],
        vit_depth=blocks('aggregator.patch_embed.blocks.'), depth=depth,
        taps=tuple(stated.get('taps', RELEASED_TAPS)),
        mlp_ratio=shapes['aggregator.global_blocks.0.mlp.fc1.weight'][0] // width,
        camera_depth=blocks('camera_head.trunk.'),
        camera_heads=stated.get('camera_heads', RELEASED_CAMERA_HEADS),
        camera_iterations=stated.get('camera_iterations', 4),
        dpt_features=shapes['depth_head.scratch.layer1_rn.weight'][0],
        dpt_channels=tuple(shapes[f'depth_head.projects.{i}.weight'][0] for i in range(4)),
        scale_frames=stated.get('scale_frames', 8), sliding_window=stated.get('sliding_window', 64))
    told.update(overrides)
    return Config(**told)
