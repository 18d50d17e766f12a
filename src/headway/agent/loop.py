"""Passes, steps and epochs of one worker; the step boundary is where everything takes effect.

At a boundary the workers agree (``exchange``): on a new batch size, on a checkpoint, on yielding.
"""

import time
from dataclasses import asdict
from typing import Any, final

import numpy as np
from torch import Tensor

from headway.agent.context import Context, Flag
from headway.agent.desk import Desk
from headway.agent.exchange import EVERY_S, Exchange, Wish
from headway.agent.job import MisuseError
from headway.agent.meter import meter_of
from headway.agent.optimizer import ScaledOptimizer
from headway.agent.plan import Cursor, Pass, Split
from headway.agent.records import check_log, opening, record
from headway.agent.saving import Saver
from headway.agent.stateful import AnyLoader
from headway.agent.steering import Steering, Turn
from headway.agent.stride import Stride
from headway.agent.switch import movable, planned, stop
from headway.agent.synchronised import AnyReplica
from headway.agent.tuner import tuner_of
from headway.core.model.lr import LearningRateScale, steps_at_initial

FLAG_S = 0.1  # between two looks at the flag, about


@final
class Loop:
    """Drives one worker through the training; worker 0 also decides, saves and reports."""

    def __init__(
        self, context: Context, saver: Saver, exchange: Exchange, checkpoint_every_s: float
    ) -> None:
        self.saver = saver
        self.exchange = exchange
        self.loader: AnyLoader | None = None
        self.optimizers: list[ScaledOptimizer] = []
        self.replicas: list[AnyReplica] = []
        self.meter = meter_of(context)
        self.desk = Desk(context, saver.folder)
        self.flag = Flag(context.flag, context.orders.generation)
        self._checkpoint_every_s = checkpoint_every_s
        self._saved_s = time.perf_counter()
        self.stop_due = False  # all have agreed to; once the script is done with the epoch
        self.enter(context)

    def enter(self, context: Context) -> None:
        """Be a worker of this generation: with what the last one chose, as far as it fits."""
        saved = self.saver.saved("loop")
        self.context = context
        self.cursor = Cursor(**(self.saver.saved("cursor") or {}))
        self.desk.enter(context, self.cursor.samples)
        self.meter = meter_of(context, self.meter.probe)
        self.tuner = tuner_of(context, time.perf_counter)
        self.flag.enter(context.orders.generation)
        self._pass: Pass | None = None
        self._made: list[Pass] = []  # this worker's passes of the present step
        self._stepped = False  # job.step was called in this pass
        self.last_pass = True  # or between steps
        self._accumulates = True  # as far as optimizers and replicas were told
        self._until_exchange = 1
        self._flag_every = 1  # steps of a worker alone between two looks at the flag
        self._exchanged_samples = self.cursor.samples
        self.steering = Steering(context.orders, context.workers, self.tuner, self.meter)
        self._stride = Stride(time.perf_counter, self.meter, self.steering, self.optimizers)
        if saved is not None:
            self.meter.load_state_dict(saved["meter"])
            self.tuner.load_state_dict(saved["fit"])
        self.steering.resume(saved, self.cursor.samples)

    def begin(self) -> None:
        """The script has set everything up."""
        saved, now = self.saver.saved("loop"), self.steering.course
        if self.optimizers and self.loader is not None:
            check_log(self.context.orders.batch.replay, self.steering.rule, self.loader.seed)
        for old, turn in opening(saved, now, lost=self.desk.lost_samples(self.cursor.samples)):
            self._changed(old, turn)
        if saved is not None:
            self.desk.metric = saved["metric"]
            if self.context.first:
                self.steering.look_for_better(self.cursor.samples, self._epoch_samples)

    @property
    def split(self) -> Split:
        return self.steering.course.split

    @property
    def halve_every(self) -> int:
        return self.steering.course.halve_every

    @property
    def steps(self) -> int:
        return self.meter.steps + len(self._stride.laps_s)

    def scale(self) -> LearningRateScale:
        """For the present step, or the next one between steps."""
        if self._stride.on:
            return self._stride.scale
        size = self.split.batch_size if self._pass is None else self._pass.step_size
        return self.steering.scale(size)

    def schedule_steps(self) -> int:
        """Where a learning-rate schedule that was written for M0 should be by now."""
        return steps_at_initial(
            self.cursor.progress_examples,
            epoch_samples=max(self._epoch_samples or 1, 1),
            initial_batch_size=self.context.orders.batch.initial_batch_size,
        )

    def begin_pass(self, one: Pass) -> None:
        """The loader hands out a pass."""
        self._pass, self._stepped = one, False
        if self._stride.begin(one):
            return
        self._settle()
        if one.index == 0:
            self._made = []
        self.last_pass = one.last
        if one.passes > 1 or self._accumulates:
            self._announce(one.index, one.passes)
        self.meter.begin_pass(one)

    def _announce(self, index: int, passes: int) -> None:
        """Of a pass that comes; of a step in one pass it is enough to be told once."""
        self._accumulates = passes > 1
        for optimizer in self.optimizers:
            optimizer.begin_pass(index)
        for replica in self.replicas:
            replica.synchronises_at(index == passes - 1)

    def step(self, loss: Tensor | float | None) -> None:
        """The script is done with a pass; after the last one the step is made."""
        if self._pass is None or self._stepped or self.loader is None:
            raise MisuseError("job.step(): call it once for each batch of job.loader")
        one, stride, self._stepped = self._pass, self._stride, True
        if stride.on:
            heard = stride.heard()
            if heard:
                self.desk.hear_loss(loss)
            if heard or self.desk.overflowing:
                self.desk.end_step()
            self.cursor.move(stride.size, stride.worth)
            return
        self._made.append(one)
        if one.samples:
            self.desk.hear_loss(loss)
        if self.last_pass:
            self.desk.end_step()
            self.loader.made(self._made)
            self.cursor.move(one.step_size, self.steering.worth(one.step_size))

    def end_pass(self, one: Pass) -> bool:
        """The script asks for the next pass: has what follows another shape?"""
        if not self._stepped:
            raise MisuseError("job.step(loss=...) is missing at the end of the loop over batches")
        if self._stride.on:
            self._pass = None
            if self._stride.end():
                return False
            self._settle()
        else:
            self.meter.end_pass(one)
            if not self.last_pass:
                return False
            self._pass = None
            self.steering.steps_since_turn += 1
            self._until_exchange -= 1
        return self._after_step()

    def _settle(self) -> None:
        """Add up the plain steps that were made."""
        read, steps = self._stride.settle()
        if read and self.loader is not None:
            self.loader.read(self.cursor.position - read, self.cursor.position)
        self._until_exchange -= steps

    def _after_step(self) -> bool:
        before, context = self.steering.course, self.context
        self._changed(before.split, self.steering.after_step(self.cursor.samples))
        if self._until_exchange <= 0 or (context.workers == 1 and self.flag.raised()):
            self._boundary()
        if self.context.workers == 1 and self.split.accum_steps == 0:
            if self._accumulates:  # this step alone was made in two
                self._announce(0, 1)
            most = min(self._until_exchange, self._flag_every)
            self._stride.look_ahead(self.cursor.samples, most)
        after = self.steering.course
        return self.context is not context or after.differs_from(before)

    def end_epoch(self) -> None:
        """Every sample of the epoch is read: count how often."""
        self._settle()
        if self.loader is not None:
            self.saver.epochs.append(self.loader.epoch_count(self.exchange.added_up))

    def next_epoch(self) -> None:
        """Leave an epoch; a rule looks at what was measured in it."""
        self._settle()
        self._changed(self.split, self.steering.after_epoch(self.cursor.samples))
        self.cursor.epoch += 1
        self.cursor.position = 0
        if self.loader is not None:
            self.loader.begin_epoch()

    def save(self, *, wait: bool = True) -> None:
        """A collective: checkpoint now; without ``wait`` it is safe a little later."""
        safe = self.saver.save(self.gather(), wait=wait)
        self.desk.saved(safe, self.cursor.samples if wait and self.context.first else None)
        self._saved_s = time.perf_counter()

    def gather(self) -> dict[str, Any]:
        """A collective: all of a checkpoint but the registered parts."""
        self._settle()
        counts = np.zeros(0, dtype=np.int32) if self.loader is None else self.loader.counts
        measured = {"meter": self.meter.state_dict(), "fit": self.tuner.state_dict()}
        loop = {**measured, "metric": self.desk.metric, **self.steering.state_dict()}
        return self.saver.gather({"cursor": asdict(self.cursor), "loop": loop}, counts)

    def leave(self) -> None:
        """Nothing more is to be said or done together."""
        self.desk.close()
        for replica in self.replicas:
            replica.part()
        self.exchange.leave()

    def report(self) -> None:
        """Worker 0 says how the job is doing, whether or not a report is due."""
        if self.context.first:
            self.tuner.refit(self.meter.history)
            self.steering.look_for_better(self.cursor.samples, self._epoch_samples)
            self.desk.report(self.cursor, self.split, self.meter.noise, self.tuner)

    def _boundary(self) -> None:
        sums = [*self.meter.sums(), *self.desk.take_loss()]
        agreed = self.exchange.agree(stop=self.flag.raised(), wish=self._wish(), sums=sums)
        *norms, loss, losses = agreed.sums
        self.meter.add(norms)
        wish = agreed.wish
        self._until_exchange, self.meter.every = wish.exchange_every, wish.measure_every
        self._flag_every = self.meter.steps_in(FLAG_S)
        self.desk.stepped(lambda: movable(self))
        old, samples = self.split, self.cursor.samples
        chosen = Split(wish.batch_size, self.context.workers, wish.batch_per_gpu)
        mean = loss / losses if losses else None
        examples, self._exchanged_samples = samples - self._exchanged_samples, samples
        self._changed(old, self.steering.at_exchange(samples, chosen, mean, examples))
        self.stop_due = agreed.stop and self.cursor.position == self._epoch_samples
        if agreed.stop and not self.stop_due:
            stop(self, self.flag.wanted())
        elif wish.save:
            self.save(wait=False)
        elif not self.saver.writes:
            self.desk.saved(self.saver.settled())
        self.desk.expect(samples + self._until_exchange * self.split.batch_size)
        if self.desk.due():
            self.report()

    def _wish(self) -> Wish:
        """What worker 0 wants next; the others are not asked."""
        split, since_s = self.steering.chosen(), time.perf_counter() - self._saved_s
        due = since_s >= self._checkpoint_every_s and self.cursor.position != self._epoch_samples
        leaves = self.flag.raised() and not planned(self, self.flag.wanted())
        return Wish(
            batch_size=split.batch_size,
            batch_per_gpu=split.batch_per_gpu,
            exchange_every=self.meter.steps_in(EVERY_S),
            measure_every=self.meter.wanted_every(),
            save=not self.saver.writes and (due or leaves),
        )

    @property
    def _epoch_samples(self) -> int | None:
        return None if self.loader is None else self.loader.samples

    def _changed(self, old: Split, turn: Turn | None) -> None:
        """A turn was taken: measure anew what has another shape, and write it down."""
        if turn is None:
            return
        step_s, steering = self.meter.step_s, self.steering
        if turn.course.split != old:
            self.meter.restart()
        self.desk.changed(
            record(
                turn,
                old,
                self.cursor,
                steering=steering,
                optimizer=next(iter(self.optimizers), None),
                noise_scale_error=self.meter.noise.error(),
                measured_per_s=steering.worth(old.batch_size) / step_s if step_s else None,
                seed=None if self.loader is None else self.loader.seed,
            )
        )
