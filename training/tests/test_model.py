"""The bundled model and its recording. Skips where models/ lacks them."""
import json
import unittest

import torch

from common import ROOT, relative
from evaluate import load_network
from gct.checkpoint import read_safetensors
from gct.model.config import Config
from gct.model.streaming import Stream
from record_outputs import activate

MODEL, RECORDING = ROOT / 'models' / 'nano.safetensors', ROOT / 'models' / 'nano_recorded.safetensors'
FRAMES = 14  # four scale frames, a window of eight: the patches of two are gone


@unittest.skipUnless(MODEL.exists() and RECORDING.exists(), f'there is no {MODEL} with its recording')
class BundledModel(unittest.TestCase):
    def test_size_and_facts(self):
        self.assertLessEqual(MODEL.stat().st_size, 26e6)
        self.assertLessEqual(RECORDING.stat().st_size, 3e6)
        tensors, metadata = read_safetensors(MODEL)
        self.assertTrue(all(t.dtype == torch.bfloat16 and torch.isfinite(t.float()).all() for t in tensors.values()))
        config = json.loads(metadata['config'])
        self.assertEqual((config['height'], config['width'], config['img_size']), (126, 168, 168))
        training = json.loads(metadata['training'])
        self.assertEqual(training['steps'], sum(run['steps'] for run in training['runs']))
        self.assertEqual(json.loads(metadata['evaluation'])['set'], 'test')
        self.assertEqual(load_network(MODEL, torch.device('cpu')).config, Config())

    def test_the_recording_is_what_the_model_computes(self):
        network = load_network(MODEL, torch.device('cpu'))
        tensors, _ = read_safetensors(RECORDING)
        images = tensors['images'][None, :FRAMES].float() / 255
        poses, log_depths, logits = Stream(network).run(images)
        self.assertLess((activate(poses)[0] - tensors['pose_enc'][:FRAMES]).abs().max().item(), 3e-5)
        last_scale = network.config.scale_frames - 1  # the first frame whose depth is recorded
        self.assertLess(relative(log_depths[0, last_scale].exp(), tensors['depth'][0]), 1e-5)
        self.assertLess(relative(1 + logits[0, last_scale].exp(), tensors['depth_conf'][0]), 1e-5)


if __name__ == '__main__':
    unittest.main()
