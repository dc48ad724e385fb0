#!/usr/bin/env python3
"""Compares `lingbot-map eval` with the evo package on ten random trajectories.

Usage: compare_with_evo.py PROGRAM [SEED]

Needs evo (scripts/setup.sh --evo puts it into .deps/evo); says so and exits with 77 where it is missing.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

RELATIVE_TOLERANCE = 1e-6
SKIPPED = 77
OWN_PYTHON = pathlib.Path(__file__).resolve().parents[2] / ".deps" / "evo" / "bin" / "python"

try:
    import numpy as np
    from evo.core import lie_algebra, metrics, sync, trajectory
    from scipy.spatial.transform import Rotation
except ImportError:
    if OWN_PYTHON.exists() and pathlib.Path(sys.prefix) != OWN_PYTHON.parents[1]:
        os.execv(OWN_PYTHON, [str(OWN_PYTHON), *sys.argv])
    print("skipped: the evo package is not installed; scripts/setup.sh --evo installs it")
    sys.exit(SKIPPED)

# name, true poses, rate of the run against the truth, part of the run's poses that is missing, noise of position and
# rotation, scale of the run, deltas
CASES = [
    ("plain", 100, 1.0, 0.0, 0.02, 1.0, 1.0, (1, 10)),
    ("scaled", 150, 1.0, 0.0, 0.05, 2.0, 0.013, (1, 5)),
    ("gaps in the run", 200, 1.0, 0.3, 0.03, 1.5, 4.0, (1, 10)),
    ("half the rate", 240, 0.5, 0.1, 0.04, 1.0, 1.7, (1, 3)),
    ("twice the rate", 120, 2.0, 0.1, 0.04, 1.0, 0.6, (1, 7)),
    ("long", 1500, 1.0, 0.05, 0.10, 3.0, 2.2, (1, 30)),
    ("few poses", 5, 1.0, 0.0, 0.01, 1.0, 1.3, (1, 2)),
    ("coarse", 90, 1.0, 0.0, 0.80, 40.0, 0.9, (1, 10)),
    ("fine", 300, 1.0, 0.2, 1e-4, 0.01, 1.0, (1, 10)),
    ("far from the origin", 180, 1.0, 0.1, 0.05, 1.0, 5.0, (2, 9)),
]


def random_walk(count, generator):
    """A smooth path with turns: positions [count, 3], rotations."""
    turns = np.cumsum(generator.normal(0, 0.02, (count, 3)), 0).cumsum(0) * 0.1
    rotations = Rotation.from_rotvec(turns)
    speed = 0.05 * (1 + 0.3 * np.sin(np.arange(count) / 17))
    return np.cumsum(rotations.apply(np.array([0.3, 0.1, 1.0])) * speed[:, None], 0), rotations


def make_case(case, generator):
    """True and computed trajectory as evo holds them."""
    name, count, rate, missing, noise, degrees, scale, _ = case
    fine, stride = 4, int(round(4 / rate))
    positions, rotations = random_walk(count * fine, generator)
    times = np.arange(count * fine) / (30.0 * fine)
    if name == "far from the origin":
        positions = positions + np.array([431.0, -1250.0, 77.0])
    chosen = np.arange(0, count * fine, stride)
    chosen = chosen[generator.random(len(chosen)) >= missing]
    world = Rotation.from_rotvec(generator.normal(0, 1.5, 3))
    turned = Rotation.from_rotvec(np.radians(degrees) * generator.normal(0, 1, (len(chosen), 3)))
    own = scale * world.apply(positions[chosen] + generator.normal(0, noise, (len(chosen), 3))) + [3.0, -2.0, 9.0]
    jitter = generator.uniform(-0.0015, 0.0015, len(chosen))
    return (make_trajectory(times[::fine], positions[::fine], rotations[::fine]),
            make_trajectory(times[chosen] + jitter, own, world * rotations[chosen] * turned))


def make_trajectory(times, positions, rotations):
    return trajectory.PoseTrajectory3D(positions_xyz=positions, timestamps=times,
                                       orientations_quat_wxyz=rotations.as_quat()[:, [3, 0, 1, 2]])


def write_tum(path, track):
    quaternions = track.orientations_quat_wxyz[:, [1, 2, 3, 0]]
    rows = np.column_stack([track.timestamps, track.positions_xyz, quaternions])
    np.savetxt(path, rows, fmt="%.17g", header="timestamp tx ty tz qx qy qz qw")


def write_kitti(path, track):
    np.savetxt(path, np.array([pose[:3].ravel() for pose in track.poses_se3]), fmt="%.17g")


def aligned(reference, estimate, with_scale):
    copy = trajectory.PoseTrajectory3D(poses_se3=[p.copy() for p in estimate.poses_se3],
                                       timestamps=estimate.timestamps.copy())
    result = copy.align(reference, correct_scale=with_scale)
    return copy, result[2]


def statistics(metric, pair):
    metric.process_data(pair)
    return {str(key.value if hasattr(key, "value") else key): value
            for key, value in metric.get_all_statistics().items()}


def expected(reference, estimate, deltas, all_pairs):
    """What evo says, under the names of our JSON."""
    relation = metrics.PoseRelation
    sim3, scale = aligned(reference, estimate, True)
    se3, _ = aligned(reference, estimate, False)
    result = {
        "ate/sim3": statistics(metrics.APE(relation.translation_part), (reference, sim3)),
        "ate/se3": statistics(metrics.APE(relation.translation_part), (reference, se3)),
        "rotation_aligned_deg": statistics(metrics.APE(relation.rotation_angle_deg), (reference, sim3)),
        "": {"path_length": reference.path_length},
        "association": {"matched": reference.num_poses},
        "rpe": {"scale": scale},
    }
    for i, delta in enumerate(deltas):
        for name, kind in (("translation", relation.translation_part), ("rotation_deg", relation.rotation_angle_deg)):
            metric = metrics.RPE(kind, delta=delta, delta_unit=metrics.Unit.frames, all_pairs=all_pairs)
            result[f"rpe/deltas/{i}/{name}"] = statistics(metric, (reference, sim3))
    return result


def at(value, path):
    for key in filter(None, path.split("/")):
        value = value[int(key)] if isinstance(value, list) else value[key]
    return value


def compare(name, ours, theirs):
    """Counts figures that differ; prints the worst of all."""
    worst, failures = 0.0, 0
    for path, figures in theirs.items():
        for key, value in figures.items():
            if key == "sse":
                continue
            own = at(ours, path)[key]
            deviation = abs(own - value) / max(abs(value), 1e-9)
            worst = max(worst, deviation)
            if not deviation <= RELATIVE_TOLERANCE:
                failures += 1
                print(f"{name}: {path}/{key} is {own!r}, evo says {value!r}")
    print(f"{name}: largest relative deviation {worst:.1e}")
    return failures


def evaluate(program, run, truth, deltas, all_pairs):
    command = [program, "eval", run, "--ground-truth", truth, "--json", "--delta", ",".join(map(str, deltas))]
    output = subprocess.run(command + ["--all-pairs"] * all_pairs, check=True, capture_output=True, text=True)
    return json.loads(output.stdout)


def check_case(program, case, folder, generator):
    name, deltas = case[0], case[-1]
    truth, run = make_case(case, generator)
    write_tum(folder / "truth.txt", truth)
    write_tum(folder / "run.txt", run)
    reference, estimate = sync.associate_trajectories(truth, run)
    failures = 0
    for all_pairs in (False, True):
        ours = evaluate(program, folder / "run.txt", folder / "truth.txt", deltas, all_pairs)
        label = f"{name}, {reference.num_poses} poses, {'all' if all_pairs else 'consecutive'} pairs"
        failures += compare(label, ours, expected(reference, estimate, deltas, all_pairs))
    return failures


def check_kitti(program, folder, generator):
    """Matrices without times, matched by their order."""
    truth, run = make_case(("kitti", 80, 1.0, 0.0, 0.03, 1.0, 1.0, (1, 10)), generator)
    write_kitti(folder / "truth.txt", truth)
    write_kitti(folder / "run.txt", run)
    ours = evaluate(program, folder / "run.txt", folder / "truth.txt", (1, 10), False)
    return compare("KITTI", ours, expected(truth, run, (1, 10), False))


def main():
    program = sys.argv[1]
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    generator = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        failures = sum(check_case(program, case, folder, generator) for case in CASES)
        failures += check_kitti(program, folder, generator)
    print("all figures agree" if failures == 0 else f"{failures} figures differ")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
