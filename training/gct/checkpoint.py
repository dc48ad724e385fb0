"""Checkpoints: safetensors (read and written here, so that nothing but PyTorch is needed) and PyTorch's own."""
import json
import struct
from pathlib import Path

import torch

DTYPES = {'F64': torch.float64, 'F32': torch.float32, 'F16': torch.float16, 'BF16': torch.bfloat16,
          'I64': torch.int64, 'I32': torch.int32, 'U8': torch.uint8, 'BOOL': torch.bool}
NAMES = {dtype: name for name, dtype in DTYPES.items()}


def read_safetensors(path):
    """({name: tensor}, metadata)."""
    data = Path(path).read_bytes()
    if len(data) < 8 or struct.unpack('<Q', data[:8])[0] > len(data) - 8:
        raise ValueError(f'{path} is no safetensors file, or it is cut off')
    length, = struct.unpack('<Q', data[:8])
    header = json.loads(data[8:8 + length])
    metadata = header.pop('__metadata__', {})
    body, tensors = bytearray(data[8 + length:]), {}
    for name, entry in header.items():
        dtype, shape, (begin, end) = DTYPES[entry['dtype']], entry['shape'], entry['data_offsets']
        if end > len(body):
            raise ValueError(f'{path} is cut off: tensor {name} ends at {end} of {len(body)} bytes')
        empty = torch.empty(shape, dtype=dtype)
        tensors[name] = torch.frombuffer(body, dtype=dtype, count=empty.numel(), offset=begin).reshape(shape).clone() \
            if end > begin else empty
    return tensors, metadata


def write_safetensors(path, tensors, metadata=None):
    """Tensors in the order of their names; the file appears whole or not at all."""
    header, offset, order = {}, 0, sorted(tensors)
    if metadata:
        header['__metadata__'] = metadata
    for name in order:
        tensor = tensors[name]
        size = tensor.numel() * tensor.element_size()
        header[name] = {'dtype': NAMES[tensor.dtype], 'shape': list(tensor.shape), 'data_offsets': [offset, offset + size]}
        offset += size
    text = json.dumps(header, separators=(',', ':')).encode()
    text += b' ' * (-len(text) % 8)
    scratch = Path(f'{path}.part')
    with open(scratch, 'wb') as file:
        file.write(struct.pack('<Q', len(text)) + text)
        for name in order:
            flat = tensors[name].detach().cpu().contiguous().reshape(-1)
            file.write(flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b'')
    scratch.replace(path)


def read_checkpoint(path):
    """({name: float32 tensor}, metadata) of one safetensors file, of a folder of shards, or of a PyTorch file."""
    path = Path(path)
    if path.is_dir():
        tensors, metadata = {}, {}
        for shard in sorted(path.glob('*.safetensors')):
            part, notes = read_safetensors(shard)
            tensors.update(part)
            metadata.update(notes)
        if not tensors:
            raise ValueError(f'there is no .safetensors file in {path}')
    elif path.suffix == '.safetensors':
        tensors, metadata = read_safetensors(path)
    else:
        loaded = torch.load(path, map_location='cpu', weights_only=True)
        tensors, metadata = loaded.get('model', loaded.get('state_dict', loaded)), {}
    return {name: tensor.float() for name, tensor in tensors.items()}, metadata


def write_shards(folder, tensors, metadata, limit=14 << 20):
    """Float32 in files below `limit` bytes of tensors each, replaced one after the other. Returns their number."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    shards, size = [{}], 0
    for name in sorted(tensors):
        tensor = tensors[name].detach().float().cpu()
        if shards[-1] and size + tensor.numel() * 4 > limit:
            shards.append({})
            size = 0
        shards[-1][name] = tensor
        size += tensor.numel() * 4
    for index, shard in enumerate(shards):
        write_safetensors(folder / f'weights-{index}.safetensors', shard, metadata)
    return len(shards)
