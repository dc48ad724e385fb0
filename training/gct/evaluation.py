"""Runs a network over held-out sequences and judges it."""
import torch

from gct.data.sequences import fixed_sequences
from gct.metrics import baselines, depth_errors, rotation_errors, summary, trajectory_error
from gct.model.attention import dense_mask
from gct.data.paths import KINDS
from gct.rotations import matrix_from_quaternion

# Seeds are fixed with the generator; the test set is read once, at the end.
VALIDATION_SEED, TEST_SEED = 7777, 20261130
LENGTHS = (16, 32, 48, 96)


@torch.no_grad()
def predict(network, images, amp=False, chunk=4):
    """uint8 [B, S, 3, H, W] -> raw poses [B, S, 9] and depths [B, S, H, W], in one masked pass."""
    config, device = network.config, next(network.parameters()).device
    frames, height, width = images.shape[1], *images.shape[3:]
    mask = dense_mask(frames, config.tokens(height, width), config.scale_frames, config.sliding_window, device)
    times, training = torch.arange(frames, device=device), network.training
    network.eval()
    poses, depths = [], []
    for part in images.split(chunk):
        prediction = network(part.to(device).float() / 255, mask, times, amp=amp)
        poses.append(prediction.poses[-1])
        depths.append(prediction.log_depths.exp())
    network.train(training)
    return torch.cat(poses), torch.cat(depths)


def held_out(config, height, width, seed, count, frames, device):
    return fixed_sequences(count, frames, height, width, config.scale_frames, seed, device)


def evaluate(network, data, lengths=LENGTHS, amp=False, with_baselines=False):
    """{length: metrics}, and the predictions."""
    poses, depths = predict(network, data.images, amp)
    lengths = [n for n in lengths if n <= data.images.shape[1]]
    result = {n: summary(poses, depths, data, n) for n in lengths}
    if with_baselines:
        for n in lengths:
            result[n].update(baselines(data, n))
    return result, poses, depths


def per_sequence(poses, depths, data):
    """One row a sequence, over all frames."""
    absrel, delta = depth_errors(depths, data.depths)
    rotation = rotation_errors(matrix_from_quaternion(poses[..., 3:7].float()), data.rotations).median(1).values
    ate = trajectory_error(poses[..., :3].float(), data.poses[..., :3])
    return [{'kind': KINDS[kind], 'absrel': round(a, 4), 'delta': round(d, 4), 'rotation_median': round(r, 3),
             'ate': round(t, 4)}
            for kind, a, d, r, t in zip(data.kinds.tolist(), absrel.tolist(), delta.tolist(), rotation.tolist(), ate.tolist())]
