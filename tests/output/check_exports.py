#!/usr/bin/env python3
"""Reads what `lingbot-map run --export` and `lingbot-map export` write with readers that are not ours.

Usage: check_exports.py PROGRAM

A few generated images are mapped with the bundled model and exported in every format. Points are taken back to the
pixels that they came from through every kind of camera, and depth to the points. Needs pycolmap, trimesh and evo
(scripts/setup.sh --evo puts them into .deps/evo); says so and exits with 77 where they are missing.
"""

import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib
from unittest import mock

SKIPPED = 77
OWN_PYTHON = pathlib.Path(__file__).resolve().parents[2] / ".deps" / "evo" / "bin" / "python"

try:
    # evo's reader of trajectories also reads recordings of ROS, for which it wants packages that nothing here needs.
    for module in ("rosbags", "rosbags.rosbag1", "rosbags.rosbag1.reader", "rosbags.rosbag2", "rosbags.rosbag2.reader",
                   "rosbags.typesys"):
        sys.modules.setdefault(module, mock.MagicMock())
    import numpy as np
    import pycolmap
    import trimesh
    from evo.tools import file_interface
except ImportError:
    if OWN_PYTHON.exists() and pathlib.Path(sys.prefix) != OWN_PYTHON.parents[1]:
        os.execv(OWN_PYTHON, [str(OWN_PYTHON), *sys.argv])
    print("skipped: pycolmap, trimesh or evo is not installed; scripts/setup.sh --evo installs them")
    sys.exit(SKIPPED)

FORMATS = "tum,kitti,ply,glb,colmap-text,colmap-bin,nerfstudio,npz,depth,confidence"
FRAMES, CHECKED = 5, 100
WIDTH, HEIGHT = 150, 100  # of the source images
PIXELS = 0.5  # tolerance; what is right is far below
NEARLY = 1e-3

failures = []


def expect(good, what):
    if not good:
        failures.append(what)
        print("WRONG:", what)


def write_png(path, rgb):
    height, width, _ = rgb.shape
    rows = b"".join(b"\0" + row.tobytes() for row in rgb)

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) +
                     chunk(b"IEND", b""))


def read_png(path):
    """Of 8-bit RGB PNGs whose rows are filtered with None or Sub."""
    data, at, packed = path.read_bytes(), 8, b""
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + length]
        if kind == b"IHDR":
            width, height, bits, color = struct.unpack(">IIBB", body[:10])
            assert (bits, color) == (8, 2)
        packed += body if kind == b"IDAT" else b""
        at += 12 + length
    rows = np.frombuffer(zlib.decompress(packed), np.uint8).reshape(height, 1 + 3 * width)
    pixels = rows[:, 1:].reshape(height, width, 3).copy()
    for y in range(height):
        assert rows[y, 0] in (0, 1)
        if rows[y, 0] == 1:
            pixels[y] = np.cumsum(pixels[y], 0, dtype=np.uint8)
    return pixels


def make_images(folder):
    folder.mkdir()
    x, y = np.meshgrid(np.arange(WIDTH), np.arange(HEIGHT))
    for i in range(FRAMES):
        shade = [128 + 100 * np.sin(x / (9 + c) + 0.2 * i) * np.cos(y / (7 + c)) for c in range(3)]
        write_png(folder / f"photo_{i}.png", np.stack(shade, 2).astype(np.uint8))


def call(program, *arguments):
    done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, timeout=300, check=False)
    if done.returncode != 0:
        print(done.stdout, done.stderr)
        raise SystemExit(f"{arguments[0]} ended with {done.returncode}")
    return done


def read_ply(path):
    data = path.read_bytes()
    end = data.index(b"end_header\n") + len(b"end_header\n")
    vertex = np.dtype([("p", "<f4", 3), ("c", "u1", 3)])
    return np.frombuffer(data[end:], vertex)


class Run:
    """What the run's folder itself says."""

    def __init__(self, folder):
        self.folder = folder
        self.records = [json.loads(line) for line in (folder / "frames.jsonl").read_text().splitlines()]
        self.ply = read_ply(folder / "points.ply")
        self.depth = [np.load(folder / record["files"]["depth_npy"]) for record in self.records]

    def camera(self, i):
        """R, c and K (pixel centres at whole numbers) of a frame."""
        record = self.records[i]
        x, y, z, w = record["quaternion"]
        rotation = np.array([[1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
                             [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
                             [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)]])
        k = record["intrinsics_resized"]
        return rotation, np.array(record["center"]), k

    def unproject(self, i, u, v):
        """The point of pixel (u, v), by depth and the camera of the record."""
        rotation, center, k = self.camera(i)
        ray = np.array([(u - k["cx"]) / k["fx"], (v - k["cy"]) / k["fy"], 1.0])
        return rotation @ ray * float(self.depth[i][v, u]) + center


def rotation_of(w, x, y, z):
    return np.array([[1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
                     [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
                     [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)]])


def read_colmap_text(folder):
    """cameras {id: (w, h, fx, fy, cx, cy)}, images {id: (R, t, camera, name, [(x, y, point)])},
    points {id: (xyz, rgb, [(image, index)])}."""

    def lines(name):
        return [line.split() for line in (folder / name).read_text().split("\n")[:-1] if not line.startswith("#")]

    cameras = {}
    for line in lines("cameras.txt"):
        assert line[1] == "PINHOLE"
        cameras[int(line[0])] = (int(line[2]), int(line[3]), *map(float, line[4:8]))
    images, rows = {}, lines("images.txt")
    for head, seen in zip(rows[0::2], rows[1::2]):
        pose = list(map(float, head[1:8]))
        images[int(head[0])] = (rotation_of(*pose[:4]), np.array(pose[4:]), int(head[8]), head[9],
                                [(float(x), float(y), int(p)) for x, y, p in zip(seen[0::3], seen[1::3], seen[2::3])])
    points = {}
    for line in lines("points3D.txt"):
        track = list(map(int, line[8:]))
        points[int(line[0])] = (np.array(list(map(float, line[1:4]))), list(map(int, line[4:7])),
                                list(zip(track[0::2], track[1::2])))
    return cameras, images, points


def read_colmap_binary(folder):
    """The same of the binary files."""

    class Bytes:
        def __init__(self, name):
            self.data, self.at = (folder / name).read_bytes(), 0

        def take(self, layout):
            values = struct.unpack_from("<" + layout, self.data, self.at)
            self.at += struct.calcsize("<" + layout)
            return values

        def name(self):
            end = self.data.index(b"\0", self.at)
            text = self.data[self.at:end].decode()
            self.at = end + 1
            return text

    cameras, images, points = {}, {}, {}
    data = Bytes("cameras.bin")
    for _ in range(data.take("Q")[0]):
        identity, model = data.take("Ii")
        assert model == 1
        cameras[identity] = (*data.take("QQ"), *data.take("4d"))
    assert data.at == len(data.data)
    data = Bytes("images.bin")
    for _ in range(data.take("Q")[0]):
        (identity,), pose, (camera,) = data.take("I"), data.take("7d"), data.take("I")
        name = data.name()
        seen = [data.take("ddQ") for _ in range(data.take("Q")[0])]
        images[identity] = (rotation_of(*pose[:4]), np.array(pose[4:]), camera, name, seen)
    assert data.at == len(data.data)
    data = Bytes("points3D.bin")
    for _ in range(data.take("Q")[0]):
        (identity,), xyz, rgb = data.take("Q"), data.take("3d"), data.take("3B")
        _, count = data.take("dQ")
        points[identity] = (np.array(xyz), list(rgb), [data.take("II") for _ in range(count)])
    assert data.at == len(data.data)
    return cameras, images, points


def frame_of(name):
    return int(pathlib.Path(name).stem)


def check_colmap(kind, model, run):
    """Points land on the pixels that they came from; those pixels' depth gives them; colours are the images'."""
    cameras, images, points = model
    expect(len(images) == FRAMES and len(points) == len(run.ply), f"{kind}: number of images or points")
    pictures = {name: read_png(run.folder / "images" / name) for *_, name, _ in images.values()}
    chosen = sorted(points)[::max(1, len(points) // CHECKED)]
    for identity in chosen:
        xyz, rgb, track = points[identity]
        expect(len(track) == 1, f"{kind}: point {identity} has {len(track)} observations")
        image, position = track[0]
        rotation, translation, camera, name, seen = images[image]
        x, y, back = seen[position]
        expect(back == identity, f"{kind}: observation of point {identity} names {back}")
        inside = rotation @ xyz + translation
        width, height, fx, fy, cx, cy = cameras[camera]
        expect(pictures[name].shape == (height, width, 3), f"{kind}: size of {name}")
        projected = np.array([fx * inside[0] / inside[2] + cx, fy * inside[1] / inside[2] + cy])
        error = np.abs(projected - [x, y]).max()
        expect(inside[2] > 0 and error < min(PIXELS, NEARLY), f"{kind}: point {identity} lands {error} px off")
        u, v = int(np.floor(x)), int(np.floor(y))
        expect(x - u == 0.5 and y - v == 0.5, f"{kind}: point {identity} is not seen in the middle of a pixel")
        again = run.unproject(frame_of(name), u, v)
        expect(np.allclose(again, xyz, rtol=1e-5, atol=1e-5), f"{kind}: depth of pixel {u} {v} gives {again}, not {xyz}")
        expect(list(pictures[name][v, u]) == rgb, f"{kind}: colour of point {identity}")
        expect(np.array_equal(run.ply["p"][identity - 1], np.float32(xyz)), f"{kind}: point {identity} of the PLY")
    return chosen


def check_pycolmap(folder, run, scratch):
    for extension in ("txt", "bin"):
        alone = scratch / f"colmap_{extension}"
        alone.mkdir()
        for path in folder.glob(f"*.{extension}"):
            shutil.copy(path, alone)
        model = pycolmap.Reconstruction(str(alone))
        expect(model.num_reg_images() == FRAMES and len(model.points3D) == len(run.ply), f"pycolmap {extension}: counts")
        errors = []
        for identity in sorted(model.points3D)[::max(1, len(run.ply) // CHECKED)]:
            point = model.points3D[identity]
            element = point.track.elements[0]
            image = model.images[element.image_id]
            pixel = image.project_point(point.xyz)
            errors.append(np.abs(pixel - image.points2D[element.point2D_idx].xy).max())
        expect(len(errors) >= CHECKED and max(errors) < NEARLY, f"pycolmap {extension}: {max(errors)} px off")
        for image in model.images.values():
            _, center, _ = run.camera(frame_of(image.name))
            expect(np.allclose(image.projection_center(), center, atol=1e-5), f"pycolmap {extension}: camera centre")


def check_glb(folder, run):
    scene = trimesh.load(str(folder / "points.glb"), process=False)
    clouds = [g for g in scene.geometry.values() if isinstance(g, trimesh.PointCloud)]
    expect(len(clouds) == 1 and len(clouds[0].vertices) == len(run.ply), "GLB: number of points")
    upright = np.asarray(clouds[0].vertices, np.float32) * np.float32([1, -1, -1])
    expect(np.array_equal(upright, run.ply["p"]), "GLB: points are not those of the PLY turned upright")
    expect(np.array_equal(np.asarray(clouds[0].colors)[:, :3], run.ply["c"]), "GLB: colours")
    lines = [g for g in scene.geometry.values() if isinstance(g, trimesh.path.Path3D)]
    expect(len(lines) == 1, "GLB: frusta")
    corners = np.asarray(lines[0].vertices) * [1, -1, -1]
    for i in range(FRAMES):
        _, center, _ = run.camera(i)
        expect(np.abs(corners - center).max(1).min() < 1e-5, f"GLB: no frustum at camera {i}")


def check_trajectories(folder, run):
    tum = file_interface.read_tum_trajectory_file(str(folder / "trajectory_tum.txt"))
    kitti = file_interface.read_kitti_poses_file(str(folder / "trajectory_kitti.txt"))
    times = np.loadtxt(folder / "times_kitti.txt")
    expect(tum.num_poses == FRAMES and kitti.num_poses == FRAMES and len(times) == FRAMES, "evo: number of poses")
    for i in range(FRAMES):
        rotation, center, _ = run.camera(i)
        for name, track in (("TUM", tum), ("KITTI", kitti)):
            expect(np.allclose(track.poses_se3[i][:3, :3], rotation, atol=1e-6) and
                   np.allclose(track.poses_se3[i][:3, 3], center, atol=1e-6), f"evo: pose {i} of {name}")
        expect(abs(times[i] - run.records[i]["timestamp"]) < 1e-6, f"times of KITTI: {i}")


def check_npz(folder, run):
    for i in range(FRAMES):
        with np.load(folder / "npz" / f"{i:06}.npz") as data:
            expect(np.array_equal(data["depth"], run.depth[i], equal_nan=True), f"NPZ {i}: depth")
            confidence = np.load(folder / "confidence" / f"{i:06}.npy")
            expect(np.array_equal(data["confidence"], confidence, equal_nan=True), f"NPZ {i}: confidence")
            rotation, center, k = run.camera(i)
            pose = data["world_from_camera"]
            expect(np.allclose(pose[:3, :3], rotation, atol=1e-6) and np.allclose(pose[:3, 3], center, atol=1e-6),
                   f"NPZ {i}: pose")
            expect(np.allclose(data["intrinsics"], [[k["fx"], 0, k["cx"]], [0, k["fy"], k["cy"]], [0, 0, 1]]),
                   f"NPZ {i}: intrinsics")
            expect(data["index"] == i and data["timestamp"] == run.records[i]["timestamp"], f"NPZ {i}: numbers")
            expect(b"camera-to-world" in data["conventions"].item(), f"NPZ {i}: conventions")


def check_nerfstudio(folder, run, model, chosen):
    transforms = json.loads((folder / "transforms.json").read_text())
    expect(len(transforms["frames"]) == FRAMES and transforms["ply_file_path"] == "points.ply", "nerfstudio: frames")
    frames = {frame["file_path"]: frame for frame in transforms["frames"]}
    _, images, points = model
    for identity in chosen:
        xyz, _, [(image, position)] = points[identity]
        *_, name, seen = images[image]
        frame = frames[f"images/{name}"]
        expect((folder / frame["file_path"]).is_file() and (folder / frame["depth_file_path"]).is_file(),
               "nerfstudio: files")
        inside = np.linalg.inv(np.array(frame["transform_matrix"])) @ [*xyz, 1]
        x = frame["fl_x"] * inside[0] / -inside[2] + frame["cx"]
        y = -frame["fl_y"] * inside[1] / -inside[2] + frame["cy"]
        error = max(abs(x - seen[position][0]), abs(y - seen[position][1]))
        expect(inside[2] < 0 and error < NEARLY, f"nerfstudio: point {identity} lands {error} px off")


def check_original_intrinsics(run):
    """The middle of a resized pixel and the place in the source that it came from are seen in one direction."""
    for record in run.records:
        small, large = record["intrinsics_resized"], record["intrinsics_original"]
        expect((large["width"], large["height"]) == (WIDTH, HEIGHT), "size of the original")
        sx, sy = record["mapping"]["scale"]
        ox, oy = record["mapping"]["offset"]
        for u, v in ((0, 0), (17, 31)):
            x, y = (u + 0.5 - ox) / sx - 0.5, (v + 0.5 - oy) / sy - 0.5
            expect(abs((x - large["cx"]) / large["fx"] - (u - small["cx"]) / small["fx"]) < 1e-9 and
                   abs((y - large["cy"]) / large["fy"] - (v - small["cy"]) / small["fy"]) < 1e-9,
                   f"intrinsics of the original, pixel {u} {v}")


def check_same_files(run_folder, other):
    count = 0
    for path in sorted(other.rglob("*")):
        if path.is_file() and path.name not in ("export.json", "transforms.json"):
            expect(path.read_bytes() == (run_folder / path.relative_to(other)).read_bytes(), f"{path.name} differs")
            count += 1
    expect(count == 3 + 2 + 6 + 5 * FRAMES, f"an export into another folder wrote {count} files")


def check_killed(program, folder, scratch, options):
    """Cuts the last record short, as a killed process might."""
    killed = scratch / "killed"
    shutil.copytree(folder, killed)
    for name in ("points.ply", "points.glb", "transforms.json"):
        (killed / name).unlink()
    text = (killed / "frames.jsonl").read_bytes()
    (killed / "frames.jsonl").write_bytes(text[:-40])
    call(program, "export", killed, "--export", "ply,nerfstudio", "--quiet", *options)
    expect(len(json.loads((killed / "transforms.json").read_text())["frames"]) == FRAMES - 1, "frames of a killed run")
    expect(len(read_ply(killed / "points.ply")) > 100, "points of a killed run")


def main():
    program = sys.argv[1]
    with tempfile.TemporaryDirectory() as name:
        scratch = pathlib.Path(name)
        make_images(scratch / "in")
        options = ["--conf", "0.3", "--max-points", "3000", "--distance-quantile", "0.1"]
        folder = scratch / "run"
        call(program, "run", scratch / "in", "--out", folder, "--image-size", "112", "--threads", "2", "--quiet",
             "--export", FORMATS, *options)
        run = Run(folder)
        expect(len(run.ply) == 3000, f"{len(run.ply)} points")
        text = read_colmap_text(folder / "sparse" / "0")
        chosen = check_colmap("text", text, run)
        expect(len(chosen) >= CHECKED, "number of points looked at")
        check_colmap("binary", read_colmap_binary(folder / "sparse" / "0"), run)
        check_pycolmap(folder / "sparse" / "0", run, scratch)
        check_glb(folder, run)
        check_trajectories(folder, run)
        check_npz(folder, run)
        check_nerfstudio(folder, run, text, chosen)
        check_original_intrinsics(run)
        call(program, "export", folder, "--out", scratch / "other", "--export", FORMATS, "--quiet", *options)
        check_same_files(folder, scratch / "other")
        check_killed(program, folder, scratch, options)
    print(f"{len(failures)} things are wrong" if failures else "all readers agree")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
