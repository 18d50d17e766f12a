"""A job under the scheduler: wraps the objects of a training script and restores their state."""

from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Any, Self, final

import torch
from torch import Tensor, nn
from torch.amp import GradScaler
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler
from torch.utils.data import DataLoader, Dataset

from headway.agent.context import Context
from headway.agent.data import ElasticLoader, as_loader
from headway.agent.follower import KEEPING, shares_here
from headway.agent.job import LossScaler, MisuseError, Paced, S, whole_epochs, whole_seed
from headway.agent.loop import Loop
from headway.agent.optimizer import ScaledOptimizer
from headway.agent.paced import PacedScheduler
from headway.agent.replica import Replica
from headway.agent.scaler import PassScaler
from headway.agent.sharding import WholeModel, is_sharded
from headway.agent.stateful import StatefulLoader, States, is_stateful
from headway.agent.switch import go_on, join, stop
from headway.agent.synchronised import Synchronised
from headway.agent.tracking import Run, Tracker
from headway.core.model.lr import LrRule
from headway.core.types import BatchMode

DONE = 1e-9  # relative; progress is a sum of floats


@final
class ScheduledJob:
    """One worker of a job; its loop does the work."""

    def __init__(self, context: Context, loop: Loop) -> None:
        self._local_worker = context.local_worker  # stays, whatever becomes of the others
        self._loop = loop
        self._models: list[nn.Module] = []
        self._finished = False

    @property
    def device(self) -> torch.device:
        if not torch.cuda.is_available():
            return torch.device("cpu")
        return torch.device("cuda", self._local_worker % torch.cuda.device_count())

    @property
    def worker(self) -> int:
        return self._loop.context.worker

    @property
    def workers(self) -> int:
        return self._loop.context.workers

    @property
    def last_pass(self) -> bool:
        return self._loop.last_pass

    @property
    def progress_share(self) -> float:
        cursor = self._loop.cursor
        if cursor.total_examples == 0:
            return 0.0
        return min(cursor.progress_examples / cursor.total_examples, 1.0)

    def model(
        self, model: nn.Module, *, name: str = "model", find_unused_parameters: bool = False
    ) -> nn.Module:
        loop = self._loop
        sharded = is_sharded(model)
        loop.saver.register(name, WholeModel(model) if sharded else model, together=sharded)
        loop.saver.restore(name)
        loop.meter.probe.watch_model(model)
        if sharded:
            if loop.context.joins:
                raise MisuseError("a sharded model cannot join workers that are training: restart")
            loop.replicas.append(Synchronised(model))
            return model
        self._models.append(model)
        replica = Replica(model, find_unused_parameters=find_unused_parameters)
        if self.workers > 1 and not loop.context.joins:
            replica.synchronise()
        loop.replicas.append(replica)
        return replica

    def optimizer(
        self, optimizer: Optimizer, *, lr_rule: str = "adascale", name: str = "optimizer"
    ) -> Optimizer:
        if lr_rule not in tuple(LrRule):
            raise MisuseError(f"lr_rule: {lr_rule!r} is none of {', '.join(LrRule)}")
        scaled = ScaledOptimizer(optimizer, self._loop)
        # last, since a learning-rate scheduler sets the rate when it is made
        self._loop.saver.register(name, scaled, last=True)
        self._loop.optimizers.append(scaled)
        self._loop.steering.rule = LrRule(lr_rule)
        self._loop.meter.probe.precondition_by(optimizer)
        return scaled

    def scaler(self, scaler: GradScaler, *, name: str = "scaler") -> LossScaler:
        loop = self._loop
        around = PassScaler(scaler, loop, loop.desk.skip_step)
        loop.meter.probe.scaled_by(around.factor)
        return self.state(name, around)

    def lr_scheduler(
        self, scheduler: LRScheduler, *, warmup_steps: int = 0, name: str = "lr_scheduler"
    ) -> Paced:
        return self.state(name, PacedScheduler(scheduler, self._loop, warmup_steps=warmup_steps))

    def loader(
        self,
        source: Dataset[Any] | DataLoader[Any],
        *,
        batch_size: int | None = None,
        seed: int = 0,
    ) -> Iterable[Any]:
        if self._loop.loader is not None:
            raise MisuseError("job.loader: a job has one training loader")
        seed = whole_seed(seed)
        if is_stateful(source):
            return self._stateful(source)
        plain = as_loader(source, batch_size)
        initial = self._loop.context.orders.batch.initial_batch_size
        if plain.batch_size != initial:
            raise MisuseError(
                f"the script reads batches of {plain.batch_size}, but initial_batch_size of the "
                f"job is {initial}: make them equal"
            )
        loader = ElasticLoader(plain, seed=seed, worker=self.worker, initial_batch_size=initial)
        self._loop.loader = loader
        self._loop.meter.reads(loader.samples)
        return loader

    def share(self, batch_size: int) -> int:
        return shares_here(batch_size).per_worker

    def _stateful(self, source: Any) -> StatefulLoader:
        loop, contract = self._loop, self._loop.context.orders.batch
        if contract.mode not in KEEPING:
            raise MisuseError("job.loader: a loader with its own batches keeps them: mode fixed")
        loader = StatefulLoader(
            source,
            worker=self.worker,
            workers=self.workers,
            batch_size=contract.initial_batch_size,
            most=contract.max_batch_per_gpu,
        )
        loader.agree(loop.saver.summed)
        loop.loader = loader
        loop.meter.reads(loader.samples)
        states = States(loader, loop.saver.summed, loop.context, loop.cursor)
        loop.saver.register("loader", states, together=True)
        loop.saver.restore("loader")
        return loader

    def state(self, name: str, part: S) -> S:
        self._loop.saver.register(name, part)
        self._loop.saver.restore(name)
        return part

    def tracker(self, tracker: Tracker) -> None:
        run = Run(
            self._loop.context.orders.job_id, self._loop.context.job_dir, self._loop.cursor.samples
        )
        self._loop.desk.trackers.add(tracker, run)

    def epochs(self, count: int) -> Iterator[int]:
        loop, count = self._loop, whole_epochs(count)
        if loop.loader is None:
            raise MisuseError("job.epochs: call job.loader before")
        total = float(count * loop.loader.samples)
        loop.cursor.total_examples = total
        self._begin(loop.loader)
        while self._more(count):
            self._check_models()
            yield loop.cursor.epoch
            loop.next_epoch()
            if loop.stop_due and self._more(count):
                stop(loop, loop.flag.wanted())

    def _more(self, count: int) -> bool:
        """Whether there is an epoch to begin, or to end where a yield has cut it."""
        cursor = self._loop.cursor
        if cursor.position > 0:
            return True
        if self._loop.context.orders.batch.mode is not BatchMode.ADAPTIVE:
            return cursor.epoch < count
        return cursor.progress_examples < cursor.total_examples * (1 - DONE)

    def step(self, *, loss: Tensor | float | None = None) -> None:
        self._loop.step(loss)

    def metric(self, value: float) -> None:
        self._loop.desk.metric = float(value)

    def finish(self) -> None:
        if self._finished:
            return
        self._finished = True
        self._loop.save()
        self._loop.report()
        self._loop.leave()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self.finish()

    def _check_models(self) -> None:
        """A parameter without hook would be neither weighed nor, on several workers, reduced."""
        for model in self._models:
            if not self._loop.meter.probe.watches(model.parameters()):
                raise MisuseError(
                    "a parameter was unfrozen after job.model: have all that will ever be trained "
                    "trainable before, and give the optimizer the parameters it may move"
                )

    def _begin(self, loader: ElasticLoader | StatefulLoader) -> None:
        """Everything is set up: now the rest of the state, which set-up would have changed."""
        loop = self._loop
        loop.saver.check()
        if loop.context.joins:
            join(loop)
        else:
            loop.saver.restore_last()
            go_on(loop)
        loader.drive(loop)
