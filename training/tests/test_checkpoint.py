"""Checkpoints and the exported model."""
import json
import tempfile
import unittest
from pathlib import Path

import torch

from common import RECORDINGS, TINY, hashed_network
from evaluate import load_network
from export import export
from gct.checkpoint import read_checkpoint, read_safetensors, write_safetensors, write_shards
from gct.model.config import Config, config_from_tensors
from gct.model.network import GeometricContextTransformer


class WithFolder(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.folder = Path(self.scratch.name)

    def tearDown(self):
        self.scratch.cleanup()


class Files(WithFolder):
    def test_every_type_and_shape_comes_back(self):
        tensors = {'a': torch.randn(3, 4), 'b': torch.randn(5).bfloat16(), 'c': torch.arange(6, dtype=torch.uint8).reshape(2, 3),
                   'scalar': torch.tensor(2.5), 'empty': torch.zeros(0, 3), 'i': torch.tensor([1, -2], dtype=torch.int32),
                   'transposed': torch.randn(4, 3).T}
        write_safetensors(self.folder / 'x.safetensors', tensors, {'note': 'ä "b"'})
        back, metadata = read_safetensors(self.folder / 'x.safetensors')
        self.assertEqual(metadata, {'note': 'ä "b"'})
        self.assertEqual(set(back), set(tensors))
        for name, tensor in tensors.items():
            self.assertEqual((back[name].dtype, back[name].shape), (tensor.dtype, tensor.shape), name)
            self.assertTrue(torch.equal(back[name], tensor), name)
        self.assertEqual([p.name for p in self.folder.iterdir()], ['x.safetensors'])

    def test_cut_files_are_refused(self):
        path = self.folder / 'x.safetensors'
        write_safetensors(path, {'a': torch.randn(8)})
        whole = path.read_bytes()
        for length in (0, 7, 20, len(whole) - 1):
            path.write_bytes(whole[:length])
            with self.assertRaisesRegex(ValueError, 'cut off'):
                read_safetensors(path)

    def test_shards_keep_the_limit_and_everything_else(self):
        tensors = {f't{i}': torch.randn(100) for i in range(10)}
        count = write_shards(self.folder / 'run', tensors, {'training': '{}'}, limit=1000)
        self.assertEqual(count, 5)
        back, metadata = read_checkpoint(self.folder / 'run')
        self.assertEqual(metadata, {'training': '{}'})
        self.assertTrue(all(torch.equal(back[name], tensor) for name, tensor in tensors.items()))


class Export(WithFolder):
    def setUp(self):
        super().setUp()
        self.network = hashed_network(TINY)
        self.tensors = {**self.network.state_dict(), 'auxiliary.heads.0.weight': torch.ones(2, 2)}
        self.record = json.dumps({'steps': 7, 'runs': [{'steps': 7}]})
        self.out = self.folder / 'small.safetensors'

    def write(self, tensors):
        write_shards(self.folder / 'run', tensors, {'config': TINY.metadata(), 'training': self.record}, limit=40000)
        return self.folder / 'run'

    def test_what_the_engine_reads(self):
        lengths = {'48': {'absrel': 0.05, 'delta': 0.97, 'rotation_median': 1.5, 'ate': 0.03, 'field_median': 2.0}}
        export(self.write(self.tensors), self.out, (42, 56), {'set': 'test', 'seed': 3, 'lengths': lengths})
        tensors, metadata = read_safetensors(self.out)
        self.assertEqual(set(tensors), set(self.network.state_dict()))
        for name, tensor in tensors.items():
            self.assertTrue(torch.equal(tensor, self.tensors[name].bfloat16()), name)
        config = json.loads(metadata['config'])
        expected = dict(img_size=56, patch_size=14, embed_dim=64, num_heads=1, depth=4, vit_depth=1, taps=[0, 1, 2, 3],
                        camera_depth=1, camera_heads=2, camera_iterations=4, dpt_features=16, dpt_channels=[8, 8, 16, 16],
                        scale_frames=2, sliding_window=3, height=42, width=56)
        self.assertEqual(config, expected)
        self.assertEqual(metadata['license'], 'Apache-2.0')
        self.assertEqual(json.loads(metadata['training'])['steps'], 7)
        self.assertEqual(json.loads(metadata['evaluation'])['lengths']['48']['ate'], 0.03)

    def test_the_exported_model_is_the_rounded_network(self):
        export(self.write(self.tensors), self.out)
        network = load_network(self.out, torch.device('cpu'))
        self.assertEqual(network.config, TINY)
        for name, tensor in network.state_dict().items():
            self.assertTrue(torch.equal(tensor, self.tensors[name].bfloat16().float()), name)

    def test_bad_checkpoints_are_refused(self):
        infinite = self.tensors['aggregator.camera_token'].clone()
        infinite[0, 0, 0, 5] = float('inf')
        damage = {'not finite': lambda t: t.update({'aggregator.camera_token': infinite}),
                  'missing': lambda t: t.pop('camera_head.token_norm.bias'),
                  'not of this network': lambda t: t.update(stranger=torch.ones(1)),
                  'has shape': lambda t: t.update({'camera_head.token_norm.bias': torch.ones(3)})}
        for words, change in damage.items():
            tensors = dict(self.tensors)
            change(tensors)
            with self.assertRaisesRegex(ValueError, words):
                export(self.write(tensors), self.out)
            self.assertFalse(self.out.exists())
            for file in (self.folder / 'run').iterdir():
                file.unlink()


class ReleasedArchitecture(unittest.TestCase):
    def test_tensor_names(self):
        path = RECORDINGS / 'tensor_names.json'
        if not path.exists():
            self.skipTest(f'there is no table {path}')
        released = json.loads(path.read_text())
        released = dict(released) if isinstance(released, list) else released
        shapes = {name: tuple(shape) for name, shape in released.items()}
        config = config_from_tensors(shapes)
        self.assertEqual((config.embed_dim, config.num_heads, config.depth, config.taps, config.scale_frames,
                          config.sliding_window), (1024, 16, 24, (4, 11, 17, 23), 8, 64))
        # The names of a narrow network of as many blocks; the widths are those of the recordings' networks.
        narrow = Config(img_size=56, embed_dim=64, num_heads=1, vit_depth=config.vit_depth, depth=config.depth,
                        taps=config.taps, camera_depth=config.camera_depth, dpt_features=16, dpt_channels=(8, 8, 16, 16))
        own = GeometricContextTransformer(narrow).state_dict()
        self.assertEqual(set(own), set(shapes))
        self.assertTrue(all(own[name].dim() == len(shape) for name, shape in shapes.items()))


if __name__ == '__main__':
    unittest.main()
