"""One training step of a fixed shape. On CUDA it is recorded once and replayed: the network is so small
that launching its kernels one by one takes longer than running them."""
import torch
import torch.distributed as distributed

from gct.data.sequences import SequenceStream
from gct.model.attention import block_mask, dense_mask, flex_attention
from gct.model.blocks import BlockFunctions
from gct.train.losses import STATISTICS, total_loss

LONGEST_TIME_SHIFT = 128


def compiled_functions():
    functions = BlockFunctions()
    for name, function in vars(functions).items():
        setattr(functions, name, torch.compile(function, dynamic=False))
    return functions


class Compiled:
    """Compiled twins of the network's parts, shared by the steppers of all phases; plain ones on the CPU."""

    def __init__(self, network, height, width):
        self.on = next(network.parameters()).is_cuda
        self.functions = compiled_functions() if self.on else BlockFunctions()
        self.depth_head = None
        if self.on:
            config, device = network.config, next(network.parameters()).device
            patches = (height // config.patch_size) * (width // config.patch_size)
            with torch.no_grad():  # fills the depth head's tables, which the compiler takes as constants
                network.depth_head([torch.zeros(1, patches, 2 * config.embed_dim, device=device)] * 4, height, width)
            self.depth_head = torch.compile(network.depth_head.forward, dynamic=False)


class Stepper:
    def __init__(self, network, matching, optimizer, compiled, batch, frames, height, width, seed, world=1, shift=0.3):
        self.network, self.matching, self.optimizer, self.compiled = network, matching, optimizer, compiled
        self.batch, self.frames, self.world, self.shift = batch, frames, world, shift
        self.device = next(network.parameters()).device
        config = network.config
        tokens = config.tokens(height, width)
        make = block_mask if self.device.type == 'cuda' and flex_attention else dense_mask
        self.mask = make(frames, tokens, config.scale_frames, config.sliding_window, self.device)
        self.stream = SequenceStream(batch, frames, height, width, config.scale_frames, seed, self.device)
        self.depth_count = max(1, frames // 4)
        self.matching_weight = torch.ones((), device=self.device)
        self.sums, self.count = torch.zeros(len(STATISTICS), device=self.device), 0
        self.loader = torch.cuda.Stream() if self.device.type == 'cuda' else None
        self.inputs = self._draw()
        self.waiting = None
        self.graphs = self._record() if self.device.type == 'cuda' else None

    def _draw(self):
        """The next batch: images, poses, rotations, depths, time indices, frames whose depth is trained on."""
        data, device, generator = self.stream.next(), self.device, self.stream.generator
        random = lambda *shape: torch.rand(*shape, device=device, generator=generator)
        index = torch.arange(self.frames, device=device)
        # Some steps pretend that a long past lies between the scale frames and the rest.
        jump = (random(()) < self.shift) * (1 + (random(()) * LONGEST_TIME_SHIFT).long())
        times = index + (index >= self.network.config.scale_frames) * jump
        chosen = random(self.batch, self.frames).argsort(1)[:, :self.depth_count]
        return data.images, data.poses, data.rotations, data.depths, times, chosen

    def _backward(self):
        images, poses, rotations, depths, times, chosen = self.inputs
        prediction = self.network(images.float() / 255, self.mask, times, chosen, amp=self.compiled.on,
                                  functions=self.compiled.functions, depth_head=self.compiled.depth_head)
        loss, parts = total_loss(prediction, self.matching(prediction.taps), poses, rotations, depths, chosen,
                                 self.matching_weight, self.network.config.patch_size)
        loss.backward()
        self.optimizer.collect(1.0 / self.world)
        self.sums += parts

    def _reduce(self):
        if self.world > 1:
            distributed.all_reduce(self.optimizer.gradient)

    def _record(self):
        """Two graphs, before and after the gradients of all processes are summed."""
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(2):  # compiles, and lets libraries allocate what they keep
                self._backward()
                self._reduce()
                self.optimizer.step()
        torch.cuda.current_stream().wait_stream(side)
        torch.cuda.synchronize()
        graphs = []
        for part in (self._backward, self.optimizer.step):
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, capture_error_mode='thread_local'):  # NCCL's watchdog may query
                part()
            graphs.append(graph)
        torch.cuda.synchronize()
        self.sums.zero_()
        return graphs

    def _prefetch(self):
        """Renders the next batch beside the running step."""
        self.loader.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.loader):
            self.waiting = self._draw()

    def _load(self):
        if self.graphs is None:
            self.inputs = self._draw()
            return
        main = torch.cuda.current_stream()
        if self.waiting is None:
            self._prefetch()
        main.wait_stream(self.loader)
        for target, source in zip(self.inputs, self.waiting):
            source.record_stream(main)
            target.copy_(source)

    def step(self):
        self._load()
        if self.graphs is None:
            self._backward()
            self._reduce()
            self.optimizer.step()
        else:
            self._prefetch()
            self.graphs[0].replay()
            self._reduce()
            self.graphs[1].replay()
        self.count += 1

    def statistics(self):
        """Means since the last call (of this process)."""
        values = (self.sums / max(1, self.count)).tolist()
        self.sums.zero_()
        self.count = 0
        return {name: round(value, 5) for name, value in zip(STATISTICS, values)}
