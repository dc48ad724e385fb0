"""Clips for others to reconstruct: H.264 video beside exact poses, intrinsics and depth."""
import json
import struct
import subprocess
import zlib

import torch

from gct.data import renderer
from gct.data.sequences import ZOOM
from gct.rotations import quaternion_from_matrix

FRAMES_PER_SECOND = 30
DEPTH_EVERY = 8
DEPTH_SCALE = 0.00025  # metres a grey level: 16 m at most


def write_png16(path, values):
    """Greyscale, 16 bits; values: integer tensor [H, W] in 0..65535."""
    height, width = values.shape
    rows = b''.join(b'\0' + struct.pack(f'>{width}H', *row) for row in values.tolist())

    def chunk(kind, data):
        return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))

    header = struct.pack('>IIBBBBB', width, height, 16, 0, 0, 0, 0)
    path.write_bytes(b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', header) + chunk(b'IDAT', zlib.compress(rows, 9))
                     + chunk(b'IEND', b''))


def write_video(path, frames):
    """frames: uint8 [S, 3, H, W]. Needs the ffmpeg program with libx264."""
    _, _, height, width = frames.shape
    command = ['ffmpeg', '-loglevel', 'error', '-y', '-f', 'rawvideo', '-pix_fmt', 'rgb24', '-s', f'{width}x{height}',
               '-r', str(FRAMES_PER_SECOND), '-i', '-', '-an', '-vf', 'scale=out_color_matrix=bt709:out_range=tv',
               '-c:v', 'libx264', '-preset', 'veryslow', '-crf', '12', '-pix_fmt', 'yuv420p', '-colorspace', 'bt709',
               '-color_primaries', 'bt709', '-color_trc', 'bt709', '-color_range', 'tv', '-movflags', '+faststart',
               '-fflags', '+bitexact', '-flags:v', '+bitexact', '-threads', '1', str(path)]
    subprocess.run(command, input=frames.permute(0, 2, 3, 1).contiguous().numpy().tobytes(), check=True)


def write_clip(folder, scene, camera, height, width, seed, description):
    """scene [1, SCENE_FLOATS], camera [1, S, CAMERA_FLOATS] on the CPU, of depth maps of height x width.

    The video is ZOOM times as large; the depth maps lie on the grid that resizing the video to their
    size gives.
    """
    truth = folder / 'ground_truth'
    (truth / 'depth').mkdir(parents=True, exist_ok=True)
    write_video(folder / 'video.mp4', renderer.render_colour(scene, camera, height, width, ZOOM, 2, seed)[0])
    depths = (renderer.render_depth(scene, camera, height, width)[0] / DEPTH_SCALE).round().clamp(0, 65535).long()
    for index in range(0, depths.shape[0], DEPTH_EVERY):
        write_png16(truth / 'depth' / f'{index:06d}.png', depths[index])
    rotation = camera[0, :, :9].reshape(-1, 3, 3)
    poses = torch.cat([camera[0, :, 9:12], quaternion_from_matrix(rotation.double()).float()], -1)
    lines = [f'{index / FRAMES_PER_SECOND:.6f} ' + ' '.join(f'{x:.7f}' for x in pose)
             for index, pose in enumerate(poses.tolist())]
    (truth / 'poses.txt').write_text('\n'.join(lines) + '\n')
    focal_x, focal_y = camera[0, 0, 12:14].tolist()
    # Pixel u of the small grid looks along (u - W/2) / f; its centre is at ZOOM * (u + 1/2) - 1/2 of the video.
    facts = {'width': ZOOM * width, 'height': ZOOM * height, 'fx': ZOOM * focal_x, 'fy': ZOOM * focal_y,
             'cx': ZOOM * (width / 2 + 0.5) - 0.5, 'cy': ZOOM * (height / 2 + 0.5) - 0.5,
             'depth_width': width, 'depth_height': height, 'depth_scale': DEPTH_SCALE, **description}
    (truth / 'camera.json').write_text(json.dumps(facts, indent=1) + '\n')
