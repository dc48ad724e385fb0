"""The training loop: phases of growing sequence length within a given time, on any number of GPUs."""
import json
import time
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.distributed as distributed

from gct.checkpoint import read_checkpoint, write_shards
from gct.evaluation import VALIDATION_SEED, evaluate, held_out
from gct.model.network import GeometricContextTransformer
from gct.train.losses import MatchingHead
from gct.train.optimizer import FlatOptimizer
from gct.train.stepper import Compiled, Stepper

AGREE_EVERY = 20   # steps between looks at the clock; the queue of work must not run ahead of it
ALIGN_EVERY = 200  # steps between comparisons of the processes' weights
LOG_SECONDS = 10
AUXILIARY = 'auxiliary.'


@dataclass
class Phase:
    frames: int   # of a sequence
    batch: int    # sequences a process and step
    share: float  # of the time


@dataclass
class Settings:
    phases: list
    seconds: float
    out: Path
    height: int = 126
    width: int = 168
    matrix_rate: float = 3e-3     # Muon
    rate: float = 1.2e-3          # AdamW
    warm_up: int = 150            # steps
    decay_from: float = 1.0       # part of the time after which the rates fall linearly, to 1 %
    matching_until: float = 1.0   # part of the time up to which the auxiliary loss has its full weight
    time_shift: float = 0.3       # share of steps with a jump of the time index
    seed: int = 1
    save_seconds: float = 60
    validate_seconds: float = 120


class Clock:
    """Progress of the run, the same number in all processes."""

    def __init__(self, start, seconds, world, device):
        self.start, self.seconds, self.world, self.device = start, seconds, world, device

    def progress(self):
        value = (time.time() - self.start) / self.seconds
        if self.world > 1:
            shared = torch.tensor([value], device=self.device)
            distributed.broadcast(shared, 0)
            value = shared.item()
        elif self.device.type == 'cuda':
            torch.cuda.synchronize()
        return value


def split_auxiliary(tensors):
    """Checkpoint's tensors and those of the auxiliary head."""
    main = {n: t for n, t in tensors.items() if not n.startswith(AUXILIARY)}
    extra = {n[len(AUXILIARY):]: t for n, t in tensors.items() if n.startswith(AUXILIARY)}
    return main, extra


class Trainer:
    def __init__(self, config, settings, device, rank=0, world=1, resume=None, start=None):
        self.settings, self.device, self.rank, self.world = settings, device, rank, world
        self.start = start or time.time()
        torch.manual_seed(settings.seed)
        self.network = GeometricContextTransformer(config).to(device).train()
        self.matching = MatchingHead(config).to(device)
        self.history = {'seconds': 0.0, 'steps': 0, 'sequences': 0, 'runs': []}
        if resume:
            self._resume(resume)
        named = list(self.network.named_parameters())
        named += [(AUXILIARY + name, p) for name, p in self.matching.named_parameters()]
        self.optimizer = FlatOptimizer(named)
        if world > 1:
            distributed.broadcast(self.optimizer.flat, 0)
        self.compiled = Compiled(self.network, settings.height, settings.width)
        self.steps, self.sequences, self.losses, self.spread = 0, 0, [], 0.0
        if rank == 0:
            settings.out.mkdir(parents=True, exist_ok=True)

    def _resume(self, path):
        tensors, metadata = read_checkpoint(path)
        main, extra = split_auxiliary(tensors)
        self.network.load_state_dict(main)
        if extra:
            self.matching.load_state_dict(extra)
        self.history = json.loads(metadata.get('training', 'null')) or self.history

    def align(self):
        """Largest difference between the weights of the processes, which then all take the first one's. Sums over
        processes give every one the same bits, so anything but 0 says that a reduction is missing."""
        if self.world == 1:
            return 0.0
        first = self.optimizer.flat.clone()
        distributed.broadcast(first, 0)
        spread = (first - self.optimizer.flat).abs().max()
        distributed.all_reduce(spread, distributed.ReduceOp.MAX)
        self.optimizer.flat.copy_(first)
        return spread.item()

    def log(self, kind, **entries):
        if self.rank:
            return
        line = json.dumps({'s': round(time.time() - self.start, 1), 'kind': kind, **entries})
        print(line, flush=True)
        with open(self.settings.out / 'log.jsonl', 'a') as file:
            file.write(line + '\n')

    def record(self):
        """What the checkpoint says about its training: this run's part is added to that of earlier ones."""
        s = self.settings
        run = {'phases': [[p.frames, p.batch, p.share] for p in s.phases], 'processes': self.world, 'seed': s.seed,
               'seconds': round(time.time() - self.start, 1), 'steps': self.steps, 'sequences': self.sequences,
               'matrix_rate': s.matrix_rate, 'rate': s.rate, 'decay_from': s.decay_from}
        total = {key: self.history[key] + run[key] for key in ('seconds', 'steps', 'sequences')}
        return {**total, 'runs': self.history['runs'] + [run]}

    def save(self):
        if self.rank:
            return
        tensors = dict(self.network.state_dict())
        tensors.update({AUXILIARY + name: t for name, t in self.matching.state_dict().items()})
        metadata = {'config': self.network.config.metadata(), 'training': json.dumps(self.record())}
        write_shards(self.settings.out, tensors, metadata)

    def rates(self, progress):
        s = self.settings
        warm = min(1.0, (self.steps + 1) / s.warm_up)
        fall = 1.0 if progress < s.decay_from else max(0.01, (1 - progress) / (1 - s.decay_from))
        return warm * fall

    def stepper(self, phase, index):
        self.optimizer.set_rates(0.0, 0.0)  # recording takes steps
        seed = (self.settings.seed * 97 + index) * 8191 + self.rank
        begun = time.time()
        stepper = Stepper(self.network, self.matching, self.optimizer, self.compiled, phase.batch, phase.frames,
                          self.settings.height, self.settings.width, seed, self.world, self.settings.time_shift)
        self.log('phase', frames=phase.frames, batch=phase.batch, ready_after=round(time.time() - begun, 1))
        return stepper

    def validate(self):
        if self.rank == 0:
            config, s = self.network.config, self.settings
            data = held_out(config, s.height, s.width, VALIDATION_SEED, 16, 96, self.device)
            scores, _, _ = evaluate(self.network, data, (16, 48, 96), amp=self.device.type == 'cuda')
            keys = ('absrel', 'delta', 'rotation_median', 'ate')
            self.log('validation', **{str(n): {k: m[k] for k in keys} for n, m in scores.items()})

    def run(self):
        settings, edges, end = self.settings, [], 0.0
        for phase in settings.phases:
            end += phase.share
            edges.append(end)
        clock = Clock(self.start, settings.seconds, self.world, self.device)
        index, stepper, progress = -1, None, 0.0
        logged = saved = validated = time.time()
        while True:
            if self.steps % AGREE_EVERY == 0 or stepper is None:
                progress = clock.progress()
                if progress >= 1:
                    break
                wanted = sum(progress >= edge for edge in edges[:-1])
                if wanted != index:
                    stepper = None  # frees the recorded step's memory first
                    index, stepper = wanted, self.stepper(settings.phases[wanted], wanted)
                if self.steps % ALIGN_EVERY == 0:
                    self.spread = max(self.spread, self.align())
                if time.time() - logged > LOG_SECONDS:
                    rate = stepper.count / (time.time() - logged)
                    entries = stepper.statistics()
                    self.losses.append((self.steps, entries))
                    self.log('train', step=self.steps, frames=stepper.frames, steps_per_s=round(rate, 2),
                             rates=round(self.rates(progress), 3), **entries)
                    logged = time.time()
                # Only what the first process decides for itself: the others wait for it at the next look.
                if time.time() - saved > settings.save_seconds:
                    self.save()
                    saved = time.time()
                if time.time() - validated > settings.validate_seconds:
                    self.validate()
                    validated = logged = time.time()
                    stepper.statistics()
            scale = self.rates(progress)
            self.optimizer.set_rates(settings.matrix_rate * scale, settings.rate * scale)
            fade = 1.0 if progress < settings.matching_until else 1 - 0.8 * (
                (progress - settings.matching_until) / (1 - settings.matching_until))
            stepper.matching_weight.fill_(fade)
            stepper.step()
            self.steps += 1
            self.sequences += stepper.batch * self.world
        self.save()
        memory = torch.cuda.max_memory_allocated() / 2 ** 30 if self.device.type == 'cuda' else 0.0
        self.log('trained', steps=self.steps, sequences=self.sequences, memory_gib=round(memory, 1),
                 spread=self.spread)
