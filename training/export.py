#!/usr/bin/env python3
"""Makes one file for the engine of a training run's checkpoint: bfloat16, without what only training needs.

  ./export.py run2 ../models/nano.safetensors --evaluation run2/test.json
"""
import argparse
import hashlib
import json
from pathlib import Path

import torch

from gct.checkpoint import read_checkpoint, write_safetensors
from gct.model.config import config_from_tensors
from gct.model.network import GeometricContextTransformer
from gct.train.trainer import split_auxiliary

LICENCE = 'Apache-2.0'
DESCRIPTION = ('Streaming Geometric Context Transformer trained from nothing on procedurally generated rooms; '
               'not meant for pictures of the real world')
ROUNDED = ('absrel', 'delta', 'rotation_median', 'ate')


def metadata_for(config, size, stated, evaluation=None):
    """What the engine reads ("config": sizes, scale frames, window, and the frame's size in training), and the
    record of training and test. Values of a safetensors file's metadata are texts."""
    entries = json.loads(config.metadata())
    entries.update(height=size[0], width=size[1])
    metadata = {'config': json.dumps(entries), 'license': LICENCE, 'description': DESCRIPTION}
    if 'training' in stated:
        metadata['training'] = stated['training']
    if evaluation is not None:
        lengths = {n: {k: scores[k] for k in ROUNDED} for n, scores in evaluation['lengths'].items()}
        metadata['evaluation'] = json.dumps({'set': evaluation['set'], 'seed': evaluation['seed'], 'lengths': lengths})
    return metadata


def export(checkpoint, out, size=(126, 168), evaluation=None):
    """Writes the file and returns its metadata. ValueError if a tensor is missing, superfluous or not finite."""
    tensors, stated = read_checkpoint(checkpoint)
    tensors, _ = split_auxiliary(tensors)
    config = config_from_tensors({name: tuple(t.shape) for name, t in tensors.items()}, stated)
    expected = GeometricContextTransformer(config).state_dict()
    for name in sorted(set(expected) ^ set(tensors)):
        raise ValueError(f'{checkpoint}: tensor {name} is {"missing" if name in expected else "not of this network"}')
    for name, tensor in tensors.items():
        if tensor.shape != expected[name].shape:
            raise ValueError(f'{checkpoint}: tensor {name} has shape {tuple(tensor.shape)}, not {tuple(expected[name].shape)}')
        if not torch.isfinite(tensor).all():
            raise ValueError(f'{checkpoint}: tensor {name} holds numbers that are not finite')
    metadata = metadata_for(config, size, stated, evaluation)
    write_safetensors(out, {name: tensor.bfloat16() for name, tensor in tensors.items()}, metadata)
    return metadata


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('checkpoint', type=Path, help='folder of a run, or a checkpoint')
    parser.add_argument('out', type=Path)
    parser.add_argument('--size', type=int, nargs=2, default=(126, 168), metavar=('HEIGHT', 'WIDTH'))
    parser.add_argument('--evaluation', type=Path, help='what evaluate.py wrote, to be kept with the weights')
    arguments = parser.parse_args()
    evaluation = json.loads(arguments.evaluation.read_text()) if arguments.evaluation else None
    export(arguments.checkpoint, arguments.out, arguments.size, evaluation)
    data = arguments.out.read_bytes()
    print(f'{arguments.out}: {len(data) / 1e6:.2f} MB, SHA-256 {hashlib.sha256(data).hexdigest()}')


if __name__ == '__main__':
    main()
