"""The network against recordings of the original one, and its two forms against each other."""
import json
import unittest
from dataclasses import replace

import torch

from common import RECORDINGS, TINY, hashed_network, random_frames, relative
from gct.checkpoint import read_safetensors
from gct.model.attention import dense_mask
from gct.model.config import Config
from gct.model.streaming import Stream
from record_outputs import record

FRAMES = 9  # two scale frames, a window of three: four frames lose their patches


def masked(network, frames, **changes):
    config = replace(network.config, **changes)
    mask = dense_mask(frames.shape[1], config.tokens(*frames.shape[3:]), config.scale_frames, config.sliding_window, 'cpu')
    with torch.no_grad():
        prediction = network(frames, mask, torch.arange(frames.shape[1]))
    return prediction.poses[-1], prediction.log_depths, prediction.confidence_logits


class MaskIsStreaming(unittest.TestCase):
    def setUp(self):
        self.network, self.frames = hashed_network(TINY), random_frames(FRAMES)
        self.streamed = Stream(self.network).run(self.frames)

    def test_one_masked_pass_equals_frame_by_frame(self):
        for whole, part in zip(masked(self.network, self.frames), self.streamed):
            self.assertLess((whole - part).abs().max().item(), 2e-5)

    def test_another_window_is_told_apart(self):
        for window in (2, 4):
            pose, _, _ = masked(self.network, self.frames, sliding_window=window)
            self.assertGreater((pose - self.streamed[0]).abs().max().item(), 1e-3)

    def test_later_frames_change_nothing(self):
        shorter = Stream(self.network).run(self.frames[:, :FRAMES - 2])
        for whole, part in zip(self.streamed, shorter):
            self.assertLess((whole[:, :FRAMES - 2] - part).abs().max().item(), 1e-6)


class Recordings(unittest.TestCase):
    def check(self, name):
        path = RECORDINGS / f'{name}.safetensors'
        if not path.exists():
            self.skipTest(f'there is no recording {path}')
        tensors, metadata = read_safetensors(path)
        facts = json.loads(metadata['config'])
        sizes = ('img_size', 'embed_dim', 'num_heads', 'depth', 'vit_depth', 'camera_depth', 'camera_heads', 'dpt_features',
                 'scale_frames', 'sliding_window')
        config = Config(**{key: facts[key] for key in sizes}, taps=tuple(facts['taps']),
                        dpt_channels=tuple(facts['dpt_channels']))
        network = hashed_network(config, facts['seed'], facts.get('fc2_bias_offset', 1.0))
        probes = {frame: [n.split('.', 2)[2] for n in tensors if n.startswith(f'probe.{frame}.')]
                  for frame in facts['probe_frames']}
        keep = facts.get('keep_depth', range(facts['frames']))
        own = record(network, tensors['images'], list(keep), probes)
        self.assertEqual(set(own), set(tensors))
        self.assertLess((own['pose_enc'] - tensors['pose_enc']).abs().max().item(), 3e-5)
        self.assertTrue(torch.equal(own['cache_stats'], tensors['cache_stats'].int()))
        for entry in set(tensors) - {'pose_enc', 'cache_stats'}:
            self.assertLess(relative(own[entry], tensors[entry]), 5e-6 if entry.startswith('probe') else 1e-5, entry)

    def test_streaming_past_eviction(self):
        self.check('tiny_stream')

    def test_negative_fields_of_view(self):
        self.check('tiny_negative_fov')


if __name__ == '__main__':
    unittest.main()
