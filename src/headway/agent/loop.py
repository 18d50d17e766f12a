"""Passes, steps and epochs of one worker; the step boundary is where everything takes effect.

At a boundary the workers agree (``exchange``): on a new batch size, on a checkpoint, on yielding.
"""

import time
from dataclasses import asdict
from typing import Any, final

import numpy as np
import torch
from torch import Tensor
from torch.nn.parallel import DistributedDataParallel

from headway.agent.context import Context, Flag
from headway.agent.data import ElasticLoader
from headway.agent.desk import Desk
from headway.agent.exchange import EVERY_S, Exchange, Wish
from headway.agent.job import MisuseError
from headway.agent.meter import Meter
from headway.agent.optimizer import ScaledOptimizer
from headway.agent.plan import Cursor, Pass, Split
from headway.agent.saving import Saver
from headway.agent.tuner import LEAST_STEPS, Change, Tuner, wanted_batch_size
from headway.core.model.efficiency import assumed_noise_scale, efficiency
from headway.core.model.lr import LearningRateScale, LrRule, scale_lr
from headway.protocol.environment import YIELDED
from headway.protocol.messages import EpochCount

MOST_STEPS = 256  # between two exchanges


@final
class Loop:
    """Drives one worker through the training; worker 0 also decides, saves and reports."""

    def __init__(
        self, context: Context, saver: Saver, exchange: Exchange, checkpoint_every_s: float
    ) -> None:
        orders, contract = context.orders, context.orders.batch
        self.context = context
        self.saver = saver
        self.cursor = Cursor(**(saver.saved("cursor") or {}))
        self.meter = Meter(
            workers=context.workers,
            nodes=context.nodes,
            initial_batch_size=contract.initial_batch_size,
            halves=contract.adapts and orders.adapts,
            gpu_type=context.gpu_type,
        )
        self.tuner = Tuner(
            contract,
            tunes=orders.adapts,
            workers=context.workers,
            nodes=context.nodes,
            clock=time.perf_counter,
            gpu_type=context.gpu_type,
            throughput=context.throughput,
        )
        self.rule = LrRule.ADASCALE
        self.loader: ElasticLoader | None = None
        self.optimizers: list[ScaledOptimizer] = []
        self.replicas: list[DistributedDataParallel] = []
        self._exchange = exchange
        self._flag = Flag(context.flag, orders.generation)
        self._checkpoint_every_s = checkpoint_every_s
        self._saved_s = time.perf_counter()
        self._pass: Pass | None = None
        self._made: list[Pass] = []  # this worker's passes of the present step
        self._stepped = False  # job.step was called in this pass
        self._until_exchange = 1
        self._steps_since_change = 0
        self._better: Change | None = None  # worker 0's
        self._split = self._resume()
        self.desk = Desk(context, saver.folder)

    def _resume(self) -> Split:
        """What the last generation measured and chose, as far as it fits this allocation."""
        orders, saved = self.context.orders, self.saver.saved("loop")
        wanted = wanted_batch_size(
            orders.batch, tunes=self.tuner.tunes, requested=orders.requested_batch_size
        )
        if saved is not None:
            self.meter.load_state_dict(saved["meter"])
            self.tuner.load_state_dict(saved["fit"])
            wanted = saved["batch_size"] if self.tuner.tunes else wanted
        return self.tuner.start(wanted)

    def begin(self) -> None:
        """The script has set everything up."""
        saved = self.saver.saved("loop")
        if saved is not None:
            old = Split(saved["batch_size"], saved["workers"], saved["batch_per_gpu"])
            self.desk.metric = saved["metric"]
            if old != self._split:
                self._changed(old, 1.0, "another allocation")
            self._look_for_better()

    # what loader and optimizers ask

    @property
    def split(self) -> Split:
        return self._split

    @property
    def halve_every(self) -> int:
        return self.meter.halve_every

    @property
    def steps(self) -> int:
        return self.meter.steps

    @property
    def epoch(self) -> int:
        return self.cursor.epoch

    @property
    def position(self) -> int:
        return self.cursor.position

    @property
    def last_pass(self) -> bool:
        return self._pass is None or self._pass.last

    def scale(self) -> LearningRateScale:
        """For the present step, or the next one between steps."""
        initial = self.context.orders.batch.initial_batch_size
        size = self._split.batch_size if self._pass is None else self._pass.step_size
        return scale_lr(
            self.rule,
            initial_batch_size=initial,
            batch_size=max(size, initial),
            noise_scale=self.meter.noise.estimate(),
        )

    # the course of an epoch

    def begin_pass(self, one: Pass) -> None:
        """The loader hands out a pass."""
        if one.index == 0:
            self._made = []
        self._pass, self._stepped = one, False
        for optimizer in self.optimizers:
            optimizer.begin_pass(one.index)
        for replica in self.replicas:
            replica.require_backward_grad_sync = one.last
        self.meter.begin_pass(one)

    def step(self, loss: Tensor | float | None) -> None:
        """The script is done with a pass; after the last one the step is made."""
        if self._pass is None or self._stepped or self.loader is None:
            raise MisuseError("job.step(): call it once for each batch of job.loader")
        one, cursor = self._pass, self.cursor
        self._stepped = True
        self._made.append(one)
        self.desk.hear_loss(loss)
        if not one.last:
            return
        self.loader.made(self._made)
        cursor.position += one.step_size
        cursor.samples += one.step_size
        cursor.progress_examples += self._worth(one.step_size)

    def end_pass(self, one: Pass) -> None:
        """The script asks for the next pass."""
        if not self._stepped:
            raise MisuseError("job.step(loss=...) is missing at the end of the loop over batches")
        self.meter.end_pass(one)
        if not one.last:
            return
        self.meter.end_step(one)
        self._pass = None
        self._steps_since_change += 1
        self._until_exchange -= 1
        alone = self.context.workers == 1
        if self._until_exchange <= 0 or (alone and self._flag.raised()):
            self._boundary()

    def end_epoch(self) -> None:
        """Every sample of the epoch is read: count how often."""
        if self.loader is None:
            return
        total = self._exchange.summed(torch.from_numpy(self.loader.counts)).numpy()
        least, most = self.loader.read_range(total)
        samples = self.loader.samples
        self.saver.epochs.append(
            EpochCount(epoch=self.epoch, samples=samples, read_least=least, read_most=most)
        )

    def next_epoch(self) -> None:
        """Leave an epoch."""
        self.cursor.epoch += 1
        self.cursor.position = 0
        if self.loader is not None:
            self.loader.counts[:] = 0

    def save(self) -> None:
        """A collective: checkpoint now."""
        counts = np.zeros(0, dtype=np.int32) if self.loader is None else self.loader.counts
        safe = self.saver.save({"cursor": asdict(self.cursor), "loop": self._state()}, counts)
        self._saved_s = time.perf_counter()
        self.desk.saved(safe)

    def leave(self) -> None:
        """Nothing more is to be said or done together."""
        self.desk.close()
        self._exchange.leave()

    def report(self) -> None:
        """Worker 0 says how the job is doing, whether or not a report is due."""
        if self.context.first:
            self.tuner.refit(self.meter.history)
            self._look_for_better()
            self.desk.report(self.cursor, self._split, self.meter.noise, self.tuner)

    # the step boundary

    def _boundary(self) -> None:
        agreed = self._exchange.agree(
            stop=self._flag.raised(), wish=self._wish(), sums=self.meter.sums()
        )
        self.meter.add(agreed.sums)
        wish = agreed.wish
        self._until_exchange, self.meter.every = wish.exchange_every, wish.measure_every
        self.desk.stepped()
        split = Split(wish.batch_size, self.context.workers, wish.batch_per_gpu)
        if split != self._split:
            old, self._split = self._split, split
            self._steps_since_change = 0
            self.meter.restart()
            self._changed(old, self._better.gain if self._better else 1.0, "predicted goodput")
            self._better = None
        if agreed.stop:
            self.save()
            self.leave()
            raise SystemExit(YIELDED)
        if wish.save:
            self.save()
        if self.desk.due():
            self.report()

    def _wish(self) -> Wish:
        """What worker 0 wants next; the others are not asked."""
        ripe = self._better is not None and self._steps_since_change >= LEAST_STEPS
        split = self._better.split if self._better is not None and ripe else self._split
        step_s = self.meter.step_s
        return Wish(
            batch_size=split.batch_size,
            batch_per_gpu=split.batch_per_gpu,
            exchange_every=int(min(max(EVERY_S / step_s, 1), MOST_STEPS)) if step_s else 1,
            measure_every=self.meter.wanted_every(),
            save=time.perf_counter() - self._saved_s >= self._checkpoint_every_s,
        )

    def _look_for_better(self) -> None:
        if self.context.first:
            samples = None if self.loader is None else self.loader.samples
            phi = self.meter.noise.estimate()
            self._better = self.tuner.choose(self._split, phi, samples=samples)

    def _changed(self, old: Split, gain: float, why: str) -> None:
        self.desk.changed(
            old,
            self._split,
            samples=self.cursor.samples,
            rate=self.scale().rate,
            rule=self.rule,
            noise=self.meter.noise,
            gain=gain,
            why=why,
        )

    def _worth(self, samples: int) -> float:
        """Scale-invariant examples that a step of so many samples is worth."""
        contract = self.context.orders.batch
        if not contract.adapts or samples <= contract.initial_batch_size:
            return float(samples)
        phi = assumed_noise_scale(self.meter.noise.estimate())
        return samples * float(efficiency(phi, contract.initial_batch_size, samples))

    def _state(self) -> dict[str, Any]:
        split = self._split
        return {
            "meter": self.meter.state_dict(),
            "fit": self.tuner.state_dict(),
            "batch_size": split.batch_size,
            "workers": split.workers,
            "batch_per_gpu": split.batch_per_gpu,
            "metric": self.desk.metric,
        }
