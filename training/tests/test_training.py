"""Losses, optimiser, and the training loop on a tiny network. Needs g++ for the renderer."""
import json
import math
import shutil
import tempfile
import time
import unittest
from pathlib import Path
from unittest import mock

import torch

from common import TINY, hashed_network
from export import export
from gct.checkpoint import read_checkpoint, write_safetensors
from gct.model.config import config_from_tensors
from gct.rotations import matrix_from_quaternion
from gct.train.losses import depth_loss, matching_loss, patch_targets, pose_loss, relative_pose_loss
from gct.train.optimizer import FlatOptimizer, orthogonalise
from gct.train.trainer import Phase, Settings, Trainer


def random_poses(batch, frames):
    generator = torch.Generator().manual_seed(2)
    poses = torch.randn(batch, frames, 9, generator=generator)
    poses[..., 3:7] = torch.nn.functional.normalize(poses[..., 3:7], dim=-1)
    poses[..., 7:] = 0.8 + 0.2 * torch.rand(batch, frames, 2, generator=generator)
    return poses


class Losses(unittest.TestCase):
    def setUp(self):
        self.poses = random_poses(2, 6)
        self.rotations = matrix_from_quaternion(self.poses[..., 3:7])

    def test_truth_costs_nothing_whatever_the_sign_of_the_quaternion(self):
        opposite = self.poses.clone()
        opposite[..., 3:7] *= -1
        for estimate in (self.poses, opposite):
            self.assertLess(pose_loss([estimate] * 4, self.poses)[0].item(), 1e-6)
            self.assertLess(relative_pose_loss(estimate, self.poses, self.rotations).item(), 1e-5)

    def test_later_passes_weigh_more(self):
        wrong = self.poses + 0.1
        early, _ = pose_loss([wrong, self.poses], self.poses)
        late, _ = pose_loss([self.poses, wrong], self.poses)
        self.assertAlmostEqual((early / late).item(), 0.6, places=4)

    def test_relative_poses_do_not_see_another_origin(self):
        moved = self.poses.clone()
        turn = matrix_from_quaternion(torch.tensor([0.1, 0.2, 0.3, 0.9]))
        moved[..., :3] = self.poses[..., :3] @ turn.T + 3
        rotated = turn @ self.rotations
        self.assertLess(relative_pose_loss(self.poses, moved, rotated).item(), 1e-5)

    def test_negative_fields_of_view_have_a_gradient(self):
        estimate = self.poses.clone()
        estimate[..., 7:] = -0.5
        estimate.requires_grad_()
        pose_loss([estimate], self.poses)[0].backward()
        self.assertTrue((estimate.grad[..., 7:] < 0).all())

    def test_depth(self):
        depths = 1 + torch.rand(1, 2, 8, 8, generator=torch.Generator().manual_seed(1))
        unsure = torch.full_like(depths, -20.0)  # confidence 1
        exact, error = depth_loss(depths.log(), unsure, depths)
        self.assertLess(exact.abs().item(), 1e-5)
        self.assertLess(error.item(), 1e-6)
        scaled, error = depth_loss(depths.log() + 0.1, unsure, depths)
        self.assertAlmostEqual(scaled.item(), 0.1, places=4)  # an offset has no gradient
        self.assertAlmostEqual(error.item(), 0.1, places=5)
        sure, _ = depth_loss(depths.log() + 0.1, torch.zeros_like(depths), depths)
        self.assertAlmostEqual(sure.item(), 0.2 - 0.2 * math.log(2), places=4)

    def test_matching_targets_of_a_camera_that_moves_right(self):
        poses = torch.zeros(1, 5, 9)
        poses[..., 6], poses[..., 7:] = 1, math.pi / 2  # half angle 45 degrees: tangent 1
        poses[0, :, 0] = 0.1 * torch.arange(5)
        rotations = torch.eye(3).expand(1, 5, 3, 3)
        points, flows = patch_targets(poses, rotations, torch.full((1, 5, 28, 28), 2.0), 14)
        self.assertLess((points[0, 3, :, 2] - 2).abs().max().item(), 1e-6)
        self.assertAlmostEqual((points[0, 3, 0, 0] - points[0, 0, 0, 0]).item(), 0.3, places=6)
        for gap, (shift, valid) in zip((1, 4), flows):  # earlier, the camera was left: points lie further right
            self.assertLess((shift[..., 0] - 0.1 * gap / 2).abs().max().item(), 1e-5)
            self.assertLess(shift[..., 1].abs().max().item(), 1e-6)
            self.assertTrue((valid == 1).all())

    def test_the_truth_of_matching_costs_nothing(self):
        poses, depths = random_poses(1, 5) * 0.05, torch.full((1, 5, 28, 28), 2.0)
        poses[..., 6], poses[..., 7:] = 1, 1.2
        rotations = matrix_from_quaternion(poses[..., 3:7])
        points, flows = patch_targets(poses, rotations, depths, 14)
        answer = torch.zeros(1, 5, points.shape[2], 7)
        answer[..., :3] = points
        answer[:, 1:, :, 3:5], answer[:, 4:, :, 5:7] = flows[0][0], flows[1][0]
        self.assertLess(matching_loss([answer], poses, rotations, depths, 14)[0].item(), 1e-6)


class Optimizer(unittest.TestCase):
    def test_updates_of_matrices_are_nearly_orthogonal(self):
        x = orthogonalise(torch.randn(3, 16, 40, generator=torch.Generator().manual_seed(1)))
        values = torch.linalg.svdvals(x)
        self.assertTrue(((values > 0.5) & (values < 1.5)).all())

    def test_parameters_stay_views_and_fall_to_the_minimum(self):
        torch.manual_seed(1)
        layer = torch.nn.Module()
        layer.attn = torch.nn.Module()
        layer.attn.proj = torch.nn.Linear(8, 8)
        target = torch.randn(8, 8)
        optimizer = FlatOptimizer(list(layer.named_parameters()), decay=0.0)
        loss = lambda: (layer.attn.proj.weight - target).square().sum() + (layer.attn.proj.bias - 1).square().sum()
        first = loss().item()
        for step in range(300):
            rate = 0.2 * (1 - step / 300)
            optimizer.set_rates(rate, 0.25 * rate)
            loss().backward()
            optimizer.collect(1.0)
            optimizer.step()
        self.assertLess(loss().item(), 0.01 * first)
        self.assertEqual(layer.attn.proj.weight.data_ptr(), optimizer.flat.data_ptr())

    def test_a_gradient_that_is_not_finite_changes_no_weight(self):
        layer = torch.nn.Linear(4, 4)
        optimizer = FlatOptimizer(list(layer.named_parameters()), decay=0.0)
        optimizer.set_rates(0.1, 0.1)
        before = optimizer.flat.clone()
        optimizer.gradient.fill_(float('nan'))
        optimizer.step()
        self.assertTrue(torch.equal(optimizer.flat, before))


@unittest.skipIf(shutil.which('g++') is None, 'there is no g++ to build the renderer with')
class Loop(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.folder = Path(self.scratch.name)

    def tearDown(self):
        self.scratch.cleanup()

    def train(self, config, out, steps, resume=None):
        settings = Settings([Phase(5, 1, 1.0)], 1.0, self.folder / out, 56, 56, warm_up=1)
        trainer = Trainer(config, settings, torch.device('cpu'), resume=resume)
        stepper = trainer.stepper(settings.phases[0], 0)
        trainer.optimizer.set_rates(1e-3, 1e-3)
        first = trainer.optimizer.flat.clone()
        for _ in range(steps):
            stepper.step()
            trainer.steps += 1
        trainer.save()
        return trainer, first, stepper.statistics()

    def test_a_step_changes_every_kind_of_weight_and_a_run_goes_on_from_another(self):
        trainer, first, losses = self.train(TINY, 'a', 2)
        self.assertTrue(all(math.isfinite(value) for value in losses.values()))
        self.assertTrue(trainer.optimizer.flat.isfinite().all())
        self.assertGreater((trainer.optimizer.flat != first).float().mean().item(), 0.9)
        resumed, start, _ = self.train(TINY, 'b', 1, self.folder / 'a')
        self.assertTrue(torch.equal(start, trainer.optimizer.flat))  # auxiliary head included
        record = json.loads(read_checkpoint(self.folder / 'b')[1]['training'])
        self.assertEqual((record['steps'], [run['steps'] for run in record['runs']]), (3, [2, 1]))

    def test_fine_tuning_starts_from_a_checkpoint_without_record_or_auxiliary_head(self):
        network = hashed_network(TINY)
        tensors = dict(network.state_dict())
        write_safetensors(self.folder / 'base.safetensors', tensors, {'config': TINY.metadata()})
        torch.save(tensors, self.folder / 'base.pt')
        torch.save({'model': tensors}, self.folder / 'wrapped.pt')
        for name in ('base.safetensors', 'base.pt', 'wrapped.pt'):
            read, metadata = read_checkpoint(self.folder / name)
            shapes = {n: tuple(t.shape) for n, t in read.items()}
            if name.endswith('.pt'):  # holds no sizes: only the released architecture needs none
                with self.assertRaisesRegex(ValueError, 'which feed the heads'):
                    config_from_tensors(shapes, metadata)
                metadata = {'config': TINY.metadata()}
            config = config_from_tensors(shapes, metadata, sliding_window=2)
            self.assertEqual(config.sliding_window, 2)
            trainer, _, losses = self.train(config, f'tuned-{name}', 1, self.folder / name)
            self.assertTrue(math.isfinite(losses['loss']))
            changed = trainer.network.state_dict()
            self.assertTrue(any(not torch.equal(changed[n], t) for n, t in tensors.items()))
            export(self.folder / f'tuned-{name}', self.folder / 'out.safetensors', (56, 56))

    @mock.patch('gct.train.trainer.AGREE_EVERY', 1)
    def test_a_run_ends_and_leaves_a_checkpoint(self):
        settings = Settings([Phase(5, 1, 0.5), Phase(6, 1, 0.5)], 1.0, self.folder / 'run', 56, 56)
        trainer = Trainer(TINY, settings, torch.device('cpu'), start=time.time())
        trainer.run()
        kinds = [json.loads(line) for line in (self.folder / 'run' / 'log.jsonl').read_text().splitlines()]
        self.assertEqual(kinds[-1]['kind'], 'trained')
        self.assertGreater(kinds[-1]['steps'], 0)
        tensors, metadata = read_checkpoint(self.folder / 'run')
        self.assertEqual(config_from_tensors({n: tuple(t.shape) for n, t in tensors.items()}, metadata), TINY)


if __name__ == '__main__':
    unittest.main()
