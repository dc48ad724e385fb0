"""Random rooms in the renderer's layout (renderer.cu): cells, objects, materials, lights."""
import math
from dataclasses import dataclass

import torch

from gct.data.paths import FRAMES_PER_KNOT, Random, knot_count, sample_paths, spline
from gct.rotations import DEGREE, matrix_from_quaternion

CELLS, CELL_FLOATS = 3, 16
OBJECTS, OBJECT_FLOATS = 14, 10
MATERIALS, MATERIAL_FLOATS = 6 * CELLS + OBJECTS, 24
SCENE_FLOATS = CELLS * CELL_FLOATS + OBJECTS * OBJECT_FLOATS + MATERIALS * MATERIAL_FLOATS
CAMERA_FLOATS = 16
LAYOUT = (CELLS, CELL_FLOATS, OBJECTS, OBJECT_FLOATS, MATERIALS, MATERIAL_FLOATS, SCENE_FLOATS, CAMERA_FLOATS)
FIRST, DOOR, SECOND = 0, 1, 2
SECOND_ROOM_SHARE = 0.45


@dataclass
class Rooms:
    """Floor plans of B scenes. Horizontal vectors are (x, z); y points down; metres."""
    count: int
    half: torch.Tensor           # [B, 2] half extents of the first room, which is centred on 0
    floor: torch.Tensor          # [B] y of the floor
    ceilings: torch.Tensor       # [B, 3] y of the ceiling of each cell
    reach: torch.Tensor          # [B, 2] how far from the centre a camera may go
    has_second: torch.Tensor     # [B] bool
    door_axis: torch.Tensor      # [B, 2] unit vector from the first room into the second
    door_centre: torch.Tensor    # [B, 2]
    door_half: torch.Tensor      # [B] half width
    door_depth: torch.Tensor     # [B] thickness of the wall
    second_centre: torch.Tensor  # [B, 2]
    second_half: torch.Tensor    # [B, 2]
    second_reach: torch.Tensor   # [B, 2]


def sample_rooms(r, count, second_share):
    half, second_half = r.uniform(2, 5, count, 2), r.uniform(1.8, 4, count, 2)
    floor = r.uniform(0.9, 1.7, count)
    along_x = r.uniform(0, 1, count) < 0.5
    sign = torch.where(r.uniform(0, 1, count) < 0.5, -1.0, 1.0)
    axis = torch.stack([along_x, ~along_x], -1).float()
    across, depth = 1 - axis, r.uniform(0.1, 0.3, count)
    door_half = r.uniform(0.45, 0.9, count)
    room = ((half * across).sum(-1) - door_half - 0.2) * r.uniform(-1, 1, count)
    door_centre = axis * (sign * ((half * axis).sum(-1) + 0.5 * depth))[:, None] + across * room[:, None]
    shift = ((second_half * across).sum(-1) - door_half - 0.1) * r.uniform(-1, 1, count)
    away = sign * (0.5 * depth + (second_half * axis).sum(-1))
    second_centre = door_centre + axis * away[:, None] + across * shift[:, None]
    ceilings = -r.uniform(0.9, 1.9, count, 3)
    # The lintel stays above every camera (paths.py keeps them at -0.55 or lower down).
    lintel = torch.minimum(floor - r.uniform(1.9, 2.4, count), torch.full_like(floor, -0.8))
    ceilings[:, DOOR] = torch.maximum(lintel, ceilings[:, [FIRST, SECOND]].amax(-1))
    return Rooms(count, half, floor, ceilings, 0.65 * half, r.uniform(0, 1, count) < second_share,
                 axis * sign[:, None], door_centre, door_half, depth, second_centre, second_half, 0.6 * second_half)


def cell_boxes(rooms):
    """Low and high corners [B, 3 cells, 3]; cells that do not exist are empty (low above high)."""
    axis = rooms.door_axis.abs()
    door_half = 0.5 * axis * rooms.door_depth[:, None] + (1 - axis) * rooms.door_half[:, None]
    centre = torch.stack([torch.zeros_like(rooms.half), rooms.door_centre, rooms.second_centre], 1)
    half = torch.stack([rooms.half, door_half, rooms.second_half], 1)
    low, high = centre - half, centre + half
    floor = rooms.floor[:, None].expand(-1, CELLS)
    low = torch.stack([low[..., 0], rooms.ceilings, low[..., 1]], -1)
    high = torch.stack([high[..., 0], floor, high[..., 1]], -1)
    exists = rooms.has_second[:, None, None] | (torch.arange(CELLS, device=low.device)[None, :, None] == FIRST)
    return torch.where(exists, low, torch.full_like(low, 1e6)), torch.where(exists, high, torch.full_like(high, -1e6))


def sample_lights(r, low, high):
    """[B, 3 cells, 10]: position, colour, ambient colour, strength of shadows."""
    n = low.shape[0]
    middle, half = (low + high) / 2, (high - low).abs() / 2
    place = middle + half * torch.stack([r.uniform(-0.7, 0.7, n, CELLS), r.uniform(-0.9, -0.4, n, CELLS),
                                         r.uniform(-0.7, 0.7, n, CELLS)], -1)
    ambient = r.uniform(0.3, 0.6, n, CELLS, 1) * r.uniform(0.85, 1.15, n, CELLS, 3)
    colour = r.uniform(0.5, 1.3, n, CELLS, 1) * r.uniform(0.85, 1.15, n, CELLS, 3)
    return torch.cat([place, colour, ambient, r.uniform(0, 0.8, n, CELLS, 1)], -1)


def sample_objects(r, rooms, low, high, positions, candidates=48):
    """[B, OBJECTS, OBJECT_FLOATS]: boxes, spheres and cylinders that keep 0.35 m away from the path."""
    n, shape = rooms.count, (rooms.count, candidates)
    kind = torch.tensor([1, 1, 1, 1, 1, 1, 2, 2, 3, 3], device=r.device)[r.below(10, *shape)]
    half = torch.stack([r.uniform(0.15, 0.65, *shape), r.uniform(0.15, 0.9, *shape), r.uniform(0.15, 0.65, *shape)], -1)
    radius = half[..., 0]
    half[..., 1] = torch.where(kind == 2, radius, half[..., 1])
    half[..., 2] = torch.where(kind == 1, half[..., 2], radius)
    spread = torch.where(kind == 1, half[..., ::2].norm(dim=-1), radius)            # horizontal
    reach = torch.where(kind == 2, radius, torch.stack([spread, half[..., 1]], -1).norm(dim=-1))
    in_second = rooms.has_second[:, None] & (r.uniform(0, 1, *shape) < 0.45)
    cell = torch.where(in_second, SECOND, FIRST)
    corner = lambda box: torch.gather(box, 1, cell[..., None].expand(-1, -1, 3))
    bottom, top = corner(low), corner(high)
    centre = bottom + (top - bottom) * r.uniform(0, 1, *shape, 3)
    for axis in (0, 2):  # inside the walls
        centre[..., axis] = torch.minimum(torch.maximum(centre[..., axis], bottom[..., axis] + spread),
                                          top[..., axis] - spread)
    support = r.uniform(0, 1, *shape)  # most stand, some float, some hang
    height = torch.where(support < 0.75, top[..., 1] - half[..., 1], r.uniform(-0.9, 0.9, *shape))
    centre[..., 1] = torch.where(support < 0.9, height, bottom[..., 1] + half[..., 1])
    distance = (centre[:, :, None] - positions[:, None, ::2]).norm(dim=-1).amin(-1) - reach
    clear = distance > 0.35
    order = torch.where(clear, r.uniform(0, 1, *shape), torch.full(shape, 2.0, device=r.device)).argsort(1)[:, :OBJECTS]
    wanted = 5 + r.below(OBJECTS - 4, n, 1)
    kept = torch.gather(clear, 1, order) & (torch.arange(OBJECTS, device=r.device)[None] < wanted)
    pick = lambda t: torch.gather(t, 1, order)
    pick3 = lambda t: torch.gather(t, 1, order[..., None].expand(-1, -1, 3))
    yaw = r.uniform(0, math.pi, n, OBJECTS)
    return torch.cat([(pick(kind) * kept)[..., None].float(), pick3(centre), pick3(half), yaw.cos()[..., None],
                      yaw.sin()[..., None], pick(cell)[..., None].float()], -1)


def sample_materials(r, count):
    """[B, MATERIALS, MATERIAL_FLOATS]: six patterns in two colours that can be told apart."""
    shape = (count, MATERIALS)
    pattern = torch.tensor([0, 0, 0, 1, 2, 3, 4, 5], device=r.device)[r.below(8, *shape)].float()
    first, second = (r.uniform(0.05, 0.95, *shape, 3) ** 1.3 for _ in range(2))
    alike = (first - second).abs().sum(-1, keepdim=True) < 0.6
    second = torch.where(alike, torch.remainder(first + 0.5, 1.0), second)
    q = r.normal(*shape, 4)
    upright = (r.uniform(0, 1, *shape, 1) < 0.5) | (pattern == 5)[..., None]
    q = torch.where(upright, torch.tensor([0.0, 0.0, 0.0, 1.0], device=r.device), q)
    frequency = torch.exp(r.uniform(math.log(0.8), math.log(4.0), *shape))
    on_object = torch.arange(MATERIALS, device=r.device) >= 6 * CELLS
    frequency = torch.where(on_object, 1.8 * frequency, frequency)
    matrix = matrix_from_quaternion(q) * frequency[..., None, None] * torch.exp(0.25 * r.normal(*shape, 3, 1))
    numbers = torch.stack([r.uniform(0.15, 0.6, *shape), r.uniform(0, 2, *shape), r.uniform(1.5, 5, *shape)], -1)
    return torch.cat([pattern[..., None], first, second, matrix.flatten(-2), r.uniform(-50, 50, *shape, 3), numbers,
                      torch.zeros(*shape, 2, device=r.device)], -1)


def sample_cameras(r, positions, orientations, height, width):
    """Renderer's cameras [B, S, CAMERA_FLOATS] and fields of view [B, 2] (vertical, horizontal; radians)."""
    n, frames = positions.shape[:2]
    vertical = r.uniform(45, 75, n) * DEGREE
    focal = (height / 2) / torch.tan(vertical / 2)
    horizontal = 2 * torch.atan(width / 2 / focal)
    drift = spline(r.normal(n, knot_count(frames), 1), frames)
    gain = r.uniform(0.8, 1.25, n, 1, 1) * (1 + 0.04 * drift)  # exposure
    noise = r.uniform(0.0, 0.03, n, 1, 1).expand(n, frames, 1)
    focal = focal[:, None, None].expand(n, frames, 2)
    cameras = torch.cat([orientations.flatten(-2), positions, focal, gain, noise], -1)
    return cameras.contiguous(), torch.stack([vertical, horizontal], -1)


def sample_scenes(generator, count, frames, height, width, kind=None, period=None, speed=None):
    """Scenes [B, SCENE_FLOATS], cameras [B, frames, CAMERA_FLOATS], fields of view [B, 2], kinds [B].

    Determined by the generator's state alone; see paths.sample_paths for the optional arguments.
    """
    r = Random(generator)
    rooms = sample_rooms(r, count, 1.0 if kind == 'two_rooms' else SECOND_ROOM_SHARE)
    positions, orientations, kinds = sample_paths(r, rooms, frames, kind, period, speed)
    low, high = cell_boxes(rooms)
    cells = torch.cat([low, high, sample_lights(r, low, high)], -1)
    objects = sample_objects(r, rooms, low, high, positions)
    materials = sample_materials(r, count)
    cameras, fields = sample_cameras(r, positions, orientations, height, width)
    scenes = torch.cat([cells.flatten(1), objects.flatten(1), materials.flatten(1)], -1).contiguous()
    assert scenes.shape[1] == SCENE_FLOATS and cameras.shape[2] == CAMERA_FLOATS
    return scenes, cameras, fields, kinds
