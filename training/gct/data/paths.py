"""Camera paths through rooms: positions and orientations of S frames, for a batch of scenes at once.

Every path is a uniform cubic B-spline through control points one knot (FRAMES_PER_KNOT frames)
apart, so that all kinds share one evaluation. Kinds:
  orbit     wanders about and looks at one target
  free      wanders about, looking where chance turns it
  walk      straight ahead
  loop      round a closed curve, looking at one target
  tour      round a closed curve, looking ahead
  two_rooms through the doorway into the second room, looking ahead
"""
import math

import torch

from gct.rotations import DEGREE, matrix_from_angles, wrap

FRAMES_PER_KNOT = 6.0
KINDS = ('orbit', 'free', 'walk', 'loop', 'tour', 'two_rooms')
SHARES = (0.33, 0.18, 0.10, 0.12, 0.07, 0.20)


class Random:
    """Uniform and normal numbers from one generator, on its device."""

    def __init__(self, generator):
        self.generator, self.device = generator, generator.device

    def uniform(self, low, high, *shape):
        return low + (high - low) * torch.rand(*shape, device=self.device, generator=self.generator)

    def normal(self, *shape):
        return torch.randn(*shape, device=self.device, generator=self.generator)

    def below(self, count, *shape):
        return torch.randint(0, count, shape, device=self.device, generator=self.generator)


def knot_count(frames):
    return int(math.ceil(frames / FRAMES_PER_KNOT)) + 4


def spline(control, frames):
    """Control points [B, K, D] -> [B, frames, D]."""
    t = torch.arange(frames, device=control.device, dtype=torch.float32) / FRAMES_PER_KNOT
    first = t.floor().long()
    u = (t - first)[None, :, None]
    p = [control[:, first + i] for i in range(4)]
    return ((1 - u) ** 3 * p[0] + (3 * u ** 3 - 6 * u ** 2 + 4) * p[1]
            + (-3 * u ** 3 + 3 * u ** 2 + 3 * u + 1) * p[2] + u ** 3 * p[3]) / 6


def reflect(x, limit):
    """Reflects x into [-limit, limit]."""
    y = torch.remainder(x + limit, 4 * limit)
    return torch.where(y < 2 * limit, y, 4 * limit - y) - limit


def along_polyline(points, distance):
    """points [B, P, 2], distance [B, K] from the first one -> [B, K, 2], clamped to the ends."""
    edges = points[:, 1:] - points[:, :-1]
    lengths = edges.norm(dim=-1)
    ends = lengths.cumsum(1)
    index = (distance[..., None] > ends[:, None, :-1]).sum(-1)            # [B, K]
    pick = lambda t: torch.gather(t, 1, index)
    start = pick(ends) - pick(lengths)
    part = ((distance - start) / pick(lengths).clamp(min=1e-6)).clamp(0, 1)
    pick2 = lambda t: torch.gather(t, 1, index[..., None].expand(-1, -1, 2))
    return pick2(points[:, :-1]) + part[..., None] * pick2(edges)


def wander(r, rooms, speed, knots):
    heading = r.uniform(0, 2 * math.pi, rooms.count, 1) + torch.cumsum(0.6 * r.normal(rooms.count, knots), 1)
    step = torch.stack([heading.sin(), heading.cos()], -1) * r.uniform(0.6, 1.4, rooms.count, knots, 1)
    start = r.uniform(-1, 1, rooms.count, 1, 2) * rooms.reach[:, None]
    return reflect(start + torch.cumsum(step * speed[:, None, None], 1), rooms.reach[:, None])


def straight(r, rooms, speed, knots):
    """Control points and the direction of travel."""
    angle = r.uniform(0, 2 * math.pi, rooms.count)
    direction = torch.stack([angle.sin(), angle.cos()], -1)
    reach = (rooms.reach / direction.abs().clamp(min=0.05)).amin(-1).clamp(max=6.0)
    step = torch.minimum(1.3 * speed, 2 * reach / knots)
    slack = (2 * reach - step * knots) * r.uniform(0, 1, rooms.count)
    s = (slack - reach)[:, None] + step[:, None] * torch.arange(knots, device=r.device)
    points = s[..., None] * direction[:, None] + 0.08 * r.normal(rooms.count, knots, 2)
    return points, angle


def round_trip(r, rooms, speed, knots, period):
    """A closed curve; `period` (knots a round) is chosen from the speed if None. Also the phase."""
    radii = rooms.reach * r.uniform(0.35, 0.95, rooms.count, 2)
    centre = (rooms.reach - radii) * r.uniform(-1, 1, rooms.count, 2)
    length = 2 * math.pi * (radii.square().mean(-1)).sqrt()
    rounds = (length / (1.2 * speed)).clamp(12, 40) if period is None else torch.full_like(length, period)
    turn = torch.where(r.uniform(-1, 1, rooms.count) < 0, -1.0, 1.0) * 2 * math.pi / rounds
    phase = r.uniform(0, 2 * math.pi, rooms.count, 1) + turn[:, None] * torch.arange(knots, device=r.device)
    points = centre[:, None] + radii[:, None] * torch.stack([phase.sin(), phase.cos()], -1)
    return points, phase


def through_door(r, rooms, speed, knots):
    """From a place in the first room through the doorway to one in the second; whole rooms must exist."""
    inside = rooms.door_centre - rooms.door_axis * (0.5 * rooms.door_depth + 0.7)[:, None]
    outside = rooms.door_centre + rooms.door_axis * (0.5 * rooms.door_depth + 0.7)[:, None]
    start = rooms.reach * r.uniform(-1, 1, rooms.count, 2)
    end = rooms.second_centre + rooms.second_reach * r.uniform(-1, 1, rooms.count, 2)
    points = torch.stack([start, inside, outside, end], 1)
    points = torch.where((r.uniform(0, 1, rooms.count) < 0.3)[:, None, None], points.flip(1), points)
    lengths = (points[:, 1:] - points[:, :-1]).norm(dim=-1)
    total, door = lengths.sum(1), lengths[:, 0] + 0.5 * lengths[:, 1]
    step = torch.minimum(1.3 * speed, total / knots)
    first = (door - r.uniform(0.1, 0.9, rooms.count) * step * knots).clamp(min=0)
    first = torch.minimum(first, total - step * knots)
    distance = first[:, None] + step[:, None] * torch.arange(knots, device=r.device)
    ahead = along_polyline(points, distance + 0.9) - along_polyline(points, distance - 0.3)
    return along_polyline(points, distance), torch.atan2(ahead[..., 0], ahead[..., 1])


def unwrapped(yaw):
    """[B, K] angles without jumps of a whole turn."""
    return yaw[:, :1] + torch.cat([torch.zeros_like(yaw[:, :1]), wrap(yaw[:, 1:] - yaw[:, :-1]).cumsum(1)], 1)


def choose_target(r, rooms, positions):
    """A point near the walls, further than 1.6 m from the whole path if one of ten is."""
    candidates = torch.stack([r.uniform(-0.95, 0.95, rooms.count, 10) * rooms.half[:, None, 0],
                              r.uniform(-0.3, 0.8, rooms.count, 10) * rooms.floor[:, None],
                              r.uniform(-0.95, 0.95, rooms.count, 10) * rooms.half[:, None, 1]], -1)
    every = max(1, positions.shape[1] // 16)
    distance = (candidates[:, :, None] - positions[:, None, ::every]).norm(dim=-1).amin(-1)
    score = torch.where(distance > 1.6, 10 + r.uniform(0, 1, rooms.count, 10), distance)
    return candidates[torch.arange(rooms.count, device=r.device), score.argmax(1)]


def sample_kinds(r, rooms, kind):
    """Index into KINDS for each scene; two_rooms only where there is a second room."""
    if kind is not None:
        return torch.full((rooms.count,), KINDS.index(kind), device=r.device)
    edges = torch.tensor(SHARES, device=r.device).cumsum(0)
    chosen = (r.uniform(0, 1, rooms.count)[:, None] >= edges[None, :-1]).sum(-1)
    return torch.where(~rooms.has_second & (chosen == KINDS.index('two_rooms')), 0, chosen)


def sample_paths(r, rooms, frames, kind=None, period=None, speed=None):
    """Positions [B, frames, 3] and orientations [B, frames, 3, 3] (world from camera), kinds [B].

    kind fixes the kind of all paths, period the frames a round trip takes, speed metres a knot.
    """
    n, knots = rooms.count, knot_count(frames)
    kinds = sample_kinds(r, rooms, kind)
    speed = r.uniform(0.15, 0.75, n) if speed is None else torch.full((n,), float(speed), device=r.device)
    walk, walk_yaw = straight(r, rooms, speed, knots)
    loop, phase = round_trip(r, rooms, speed, knots, None if period is None else period / FRAMES_PER_KNOT)
    door, door_yaw = through_door(r, rooms, speed, knots)
    is_kind = lambda *names: sum(kinds == KINDS.index(name) for name in names).bool()
    pick = lambda mask, a, b: torch.where(mask.reshape(n, *[1] * (a.dim() - 1)), a, b)

    closed = is_kind('loop', 'tour')
    ground = pick(is_kind('walk'), walk, wander(r, rooms, speed, knots))
    ground = pick(closed, loop, pick(is_kind('two_rooms'), door, ground))
    height = (0.25 * r.normal(n, 1) + torch.cumsum(0.07 * r.normal(n, knots), 1)).clamp(-0.55, 0.5)
    round_height = height[:, :1] + 0.15 * (phase + phase[:, :1]).sin()
    height = pick(closed, round_height.clamp(-0.55, 0.5), height)
    positions = spline(torch.stack([ground[..., 0], height, ground[..., 1]], -1), frames)

    step = loop[:, 1:] - loop[:, :-1]
    loop_yaw = torch.atan2(step[..., 0], step[..., 1])
    loop_yaw = torch.cat([loop_yaw, 2 * loop_yaw[:, -1:] - loop_yaw[:, -2:-1]], 1)
    ahead = pick(is_kind('two_rooms'), door_yaw, pick(closed, loop_yaw, walk_yaw[:, None].expand(n, knots)))
    ahead = spline(unwrapped(ahead)[..., None], frames)[..., 0]

    shake = spline(r.normal(n, knots, 3) * torch.tensor([5.0, 4.0, 3.0], device=r.device) * DEGREE, frames)
    turns = torch.stack([torch.cumsum(r.uniform(6, 24, n, 1) * r.normal(n, knots), 1), 7 * r.normal(n, knots),
                         3 * r.normal(n, knots)], -1) * DEGREE
    turns = spline(turns, frames)
    towards = choose_target(r, rooms, positions)[:, None] - positions
    target_yaw = torch.atan2(towards[..., 0], towards[..., 2])
    target_pitch = -torch.atan2(towards[..., 1], towards[..., ::2].norm(dim=-1).clamp(min=0.3))

    looks = is_kind('orbit', 'loop')
    free = is_kind('free')
    start_yaw = r.uniform(0, 2 * math.pi, n, 1)
    yaw = pick(looks, target_yaw + shake[..., 0], pick(free, start_yaw + turns[..., 0], ahead + 1.6 * shake[..., 0]))
    level = -4 * DEGREE + pick(free, turns[..., 1], 1.3 * shake[..., 1])
    pitch = pick(looks, target_pitch + shake[..., 1], level)
    roll = pick(free, turns[..., 2], shake[..., 2])
    return positions, matrix_from_angles(yaw, pitch, roll), kinds
