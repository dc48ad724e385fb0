"""Rendered depth and poses fit together, and a seed fixes everything. Needs g++."""
import shutil
import unittest

import torch

from gct.data import renderer
from gct.data.reprojection import reprojection_error
from gct.data.rooms import CELLS, CELL_FLOATS, sample_scenes
from gct.data.sequences import fixed_sequences

HEIGHT, WIDTH = 70, 98


@unittest.skipIf(shutil.which('g++') is None, 'there is no g++ to build the renderer with')
class Renderer(unittest.TestCase):
    def test_what_one_frame_sees_is_where_another_sees_it(self):
        data = fixed_sequences(4, 8, HEIGHT, WIDTH, 4, 99, torch.device('cpu'))
        error = reprojection_error(data, 0, 7)
        self.assertLess(error.nanmedian().item(), 1e-4)
        self.assertGreaterEqual(int((error < 1e-3).sum()), 3)

    def test_a_seed_fixes_the_pictures(self):
        make = lambda seed: fixed_sequences(1, 2, 42, 56, 2, seed, torch.device('cpu'))
        first, again, other = make(5), make(5), make(6)
        for a, b in zip(first.tensors(), again.tensors()):
            self.assertTrue(torch.equal(a, b))
        self.assertFalse(torch.equal(first.images, other.images))

    def test_depth_is_along_the_axis_and_the_middle_pixel_looks_along_it(self):
        """A camera in the middle of the first room that looks straight at a wall, all objects removed."""
        scenes, cameras, _, _ = sample_scenes(torch.Generator().manual_seed(1), 1, 1, HEIGHT, WIDTH, 'orbit')
        scenes[0, CELLS * CELL_FLOATS:][:140:10] = 0  # kind of an object: none
        cameras[0, 0, :9] = torch.eye(3).flatten()
        cameras[0, 0, 9:12] = 0
        depth = renderer.render_depth(scenes, cameras, HEIGHT, WIDTH)[0, 0]
        wall = scenes[0, 5].item()  # largest z of the first cell
        middle = depth[HEIGHT // 2, WIDTH // 2].item()
        focal_x = cameras[0, 0, 12].item()
        if abs(middle - wall) < 1e-3:  # else the doorway is ahead
            aside = depth[HEIGHT // 2, WIDTH // 2 + 3].item()
            self.assertAlmostEqual(aside, wall, places=3)  # z, not the length of the ray
        side = scenes[0, 3].item()  # largest x
        if side / wall < (WIDTH / 2 - 1) / focal_x:
            self.assertAlmostEqual(depth[HEIGHT // 2, WIDTH - 1].item(), side * focal_x / (WIDTH / 2 - 1), places=2)

    def test_exact_resizing_of_even_pictures(self):
        picture = torch.full((1, 1, 3, 8, 12), 77, dtype=torch.uint8)
        self.assertTrue((renderer.resize(picture, 2, torch.ones(1)) == 77).all())


if __name__ == '__main__':
    unittest.main()
