"""Rotations and poses: against what can be written down by hand, and against each other."""
import math
import unittest

import torch

from common import HALF, quarter_turn
from gct.data.sequences import ground_truth
from gct.rotations import angle_between, matrix_from_angles, matrix_from_quaternion, quaternion_from_matrix, wrap


class Quaternions(unittest.TestCase):
    def test_quarter_turns(self):
        for axis in range(3):
            q = torch.zeros(4)
            q[axis], q[3] = HALF, HALF  # x y z w
            self.assertLess((matrix_from_quaternion(q) - quarter_turn(axis)).abs().max().item(), 1e-6)
            self.assertLess((quaternion_from_matrix(quarter_turn(axis)) - q).abs().max().item(), 1e-6)

    def test_round_trip_also_near_half_turns(self):
        q = torch.randn(4000, 4, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
        q[::2, 3] *= 1e-4
        q = q / q.norm(dim=-1, keepdim=True)
        back = quaternion_from_matrix(matrix_from_quaternion(q))
        self.assertLess((back - torch.where(q[:, 3:] < 0, -q, q)).abs().max().item(), 1e-9)

    def test_length_does_not_matter(self):
        q = torch.tensor([0.3, -0.2, 0.7, 0.4])
        self.assertLess((matrix_from_quaternion(5 * q) - matrix_from_quaternion(q)).abs().max().item(), 1e-6)


class Angles(unittest.TestCase):
    def test_yaw_turns_the_view_right(self):
        turn = matrix_from_angles(*(torch.tensor(a) for a in (math.pi / 2, 0.0, 0.0)))
        view = turn @ torch.tensor([0.0, 0.0, 1.0])  # z ahead, x right, y down
        self.assertLess((view - torch.tensor([1.0, 0.0, 0.0])).abs().max().item(), 1e-6)

    def test_pitch_lifts_the_view(self):
        view = matrix_from_angles(*(torch.tensor(a) for a in (0.0, math.pi / 6, 0.0))) @ torch.tensor([0.0, 0.0, 1.0])
        self.assertAlmostEqual(view[1].item(), -0.5, places=6)

    def test_angle_between(self):
        self.assertAlmostEqual(angle_between(torch.eye(3), quarter_turn(1)).item(), 90.0, places=3)

    def test_wrap(self):
        self.assertAlmostEqual(wrap(torch.tensor(3.5 * math.pi)).item(), -0.5 * math.pi, places=5)


class GroundTruth(unittest.TestCase):
    def test_poses_are_in_the_first_camera_and_in_mean_depths(self):
        rotations = torch.stack([quarter_turn(1), quarter_turn(1) @ quarter_turn(0)])
        centres = torch.tensor([[1.0, 2.0, 3.0], [1.0, 2.0, 7.0]])
        cameras = torch.zeros(1, 2, 16)
        cameras[0, :, :9], cameras[0, :, 9:12] = rotations.flatten(1), centres
        depths = torch.tensor([1.0, 3.0])[None, :, None, None].expand(1, 2, 4, 4)
        poses, relative, unit_depths = ground_truth(cameras, torch.tensor([[0.9, 1.1]]), depths, 2)
        # The step is 4 along the world's z; the first camera's x axis is minus that. The unit is 2.
        self.assertLess((poses[0, 1, :3] - torch.tensor([-2.0, 0.0, 0.0])).abs().max().item(), 1e-6)
        self.assertLess((relative[0, 1] - quarter_turn(0)).abs().max().item(), 1e-6)
        self.assertLess((poses[0, 1, 3:] - torch.tensor([HALF, 0, 0, HALF, 0.9, 1.1])).abs().max().item(), 1e-6)
        self.assertAlmostEqual(unit_depths.mean().item(), 1.0, places=6)


if __name__ == '__main__':
    unittest.main()
