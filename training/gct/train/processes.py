"""One process a GPU."""
import os

import torch
import torch.distributed as distributed
import torch.multiprocessing as multiprocessing


def _enter(rank, world, function, arguments):
    device = torch.device('cuda', rank)
    torch.cuda.set_device(device)
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.backends.cudnn.allow_tf32 = True
    import torch._dynamo.config as compiler
    limit = 'recompile_limit' if hasattr(compiler, 'recompile_limit') else 'cache_size_limit'
    setattr(compiler, limit, 64)  # one version of each block a phase
    if world > 1:
        os.environ.setdefault('MASTER_ADDR', '127.0.0.1')
        os.environ.setdefault('MASTER_PORT', '29517')
        distributed.init_process_group('nccl', rank=rank, world_size=world, device_id=device)
    function(device, rank, world, *arguments)
    if world > 1:
        distributed.barrier()
        distributed.destroy_process_group()


def launch(function, gpus, *arguments):
    """Calls function(device, rank, world, *arguments) in a process for each GPU; on the CPU if there are none."""
    if gpus == 0:
        function(torch.device('cpu'), 0, 1, *arguments)
    elif gpus == 1:
        _enter(0, 1, function, arguments)
    else:
        multiprocessing.spawn(_enter, (gpus, function, arguments), gpus)
