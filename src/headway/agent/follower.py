"""One worker of a job whose loop, data and checkpoints are another library's.

The library keeps its global batch, splits it over the workers there are, and goes on from its own
checkpoint. What is left: telling how fast it is, and leaving when the scheduler wants another size.
"""

import os
import time
from dataclasses import dataclass
from typing import NoReturn, final

import torch
import torch.distributed as dist
from torch import Tensor, nn

from headway.agent.context import Context, Flag, from_environment
from headway.agent.desk import Desk
from headway.agent.exchange import EVERY_S, Exchange, Wish
from headway.agent.job import MisuseError
from headway.agent.noise import NoiseScale
from headway.agent.plan import Cursor, Split
from headway.agent.timing import History, Shape, Stopwatch
from headway.agent.tuner import Tuner
from headway.core.types import BatchMode
from headway.protocol.environment import CHECKPOINTS, YIELDED

MOST_STEPS = 64  # between two exchanges
KEEPING = (BatchMode.FIXED, BatchMode.OBSERVE)


@dataclass(frozen=True, slots=True)
class Shares:
    """A global batch over the workers: equal parts, or the job would learn from another batch."""

    per_worker: int  # in one pass
    passes: int  # of a step


def shares(batch_size: int, workers: int, most_per_worker: int) -> Shares:
    """The fewest equal passes that fit.

    Raises:
        MisuseError: there are no equal parts.
    """
    mine, rest = divmod(batch_size, workers)
    if rest or mine == 0:
        raise MisuseError(
            f"a batch of {batch_size} does not divide by {workers} workers: give the job sizes "
            "that divide it, as in gpus: {sizes: [1, 2, 4]}"
        )
    passes = next(count for count in range(1, mine + 1) if _fits(mine, count, most_per_worker))
    return Shares(mine // passes, passes)


def _fits(samples: int, passes: int, most: int) -> bool:
    return samples % passes == 0 and samples // passes <= max(most, 1)


@final
class Follower:
    """Hears of passes and steps from a library's callback."""

    def __init__(self, context: Context) -> None:
        orders, contract = context.orders, context.orders.batch
        if contract.mode not in KEEPING:
            raise MisuseError(
                f"batch.mode {contract.mode} is for job.loader: this loop keeps its batch, so mode "
                "fixed or observe"
            )
        self.cursor = Cursor()
        self.batch_size = contract.initial_batch_size
        self.shares = shares(self.batch_size, context.workers, contract.max_batch_per_gpu)
        self._context = context
        self._split = Split(self.batch_size, context.workers, self.shares.per_worker)
        self._desk = Desk(context, context.job_dir / CHECKPOINTS)
        self._flag = Flag(context.flag, orders.generation)
        self._noise = NoiseScale(horizon_examples=1.0)  # never measured here
        self._history = History()
        self._tuner = Tuner(
            contract,
            tunes=False,
            workers=context.workers,
            nodes=context.nodes,
            clock=time.perf_counter,
            gpu_type=context.gpu_type,
            throughput=context.throughput,
        )
        cuda = torch.cuda.is_available()
        self._watch = Stopwatch(time.perf_counter, torch.cuda.synchronize if cuda else None)
        self._exchange = Exchange(context.worker, 1)
        self._last_gradient_s = 0.0
        self._step_s: float | None = None
        self._passes = 0  # of the present step
        self._until_exchange = 1

    def begin(self, model: nn.Module, *, steps: int, total_steps: int, epoch: int) -> None:
        """The library has set everything up, its process group too."""
        self.cursor.samples, self.cursor.epoch = steps * self.batch_size, epoch
        self.cursor.total_examples = float(max(total_steps, 0) * self.batch_size)
        if self._context.workers > 1:
            # of our own: the numbers are the host's, and NCCL alone would not take them
            group = dist.new_group(backend="gloo")
            self._exchange = Exchange(self._context.worker, self._context.workers, group)
            first = next((p for p in model.parameters() if p.requires_grad), None)
            if first is not None:  # its gradient is the last to be ready, or about
                first.register_hook(self._on_gradient)  # type: ignore[no-untyped-call]

    def begin_pass(self) -> None:
        self._watch.begin_pass(self._passes)

    def end_pass(self, *, last: bool) -> None:
        self._watch.end_pass(last=last)
        self._passes += 1

    def loss(self, value: Tensor | float) -> None:
        """Of some passes, for the report."""
        self._desk.hear_loss(value)

    def end_step(self) -> bool:
        """After the last pass: whether to save now and to ``leave``, on all workers alike."""
        self._desk.end_step()
        self._timed()
        self._passes = 0
        self.cursor.samples += self.batch_size
        self.cursor.progress_examples = float(self.cursor.samples)
        self._until_exchange -= 1
        alone = self._context.workers == 1
        if self._until_exchange > 0 and not (alone and self._flag.raised()):
            return False
        return self._agreed_to_stop()

    def metric(self, value: float) -> None:
        """The owner's own metric, for the report."""
        self._desk.metric = value

    def leave(self) -> NoReturn:
        """The state is saved: end this process, to go on at another size."""
        self._desk.close()
        raise SystemExit(YIELDED)

    def finish(self) -> None:
        """The training is complete."""
        self._report()
        self._desk.close()

    def _on_gradient(self, _: Tensor) -> None:
        self._last_gradient_s = time.perf_counter()

    def _timed(self) -> None:
        context = self._context
        taken = self._watch.step(alone=context.workers == 1, last_gradient_s=self._last_gradient_s)
        if taken is None:
            return
        grad_s, self._step_s = taken
        shape = Shape(
            context.workers,
            context.nodes,
            self.shares.per_worker,
            self.shares.passes - 1,
            context.gpu_type,
        )
        self._history.add(shape, grad_s=grad_s, step_s=self._step_s)

    def _agreed_to_stop(self) -> bool:
        every = int(min(max(EVERY_S / self._step_s, 1), MOST_STEPS)) if self._step_s else 1
        wish = Wish(
            batch_size=self.batch_size,
            batch_per_gpu=self.shares.per_worker,
            exchange_every=every,
        )
        agreed = self._exchange.agree(stop=self._flag.raised(), wish=wish, sums=[])
        self._until_exchange = agreed.wish.exchange_every
        self._desk.stepped(lambda: False)
        if self._desk.due():
            self._report()
        return agreed.stop

    def _report(self) -> None:
        if self._context.first:
            self._tuner.refit(self._history)
            self._desk.report(self.cursor, self._split, self._noise, self._tuner)


def follower() -> Follower | None:
    """For this process; None without a scheduler, where a callback has nothing to do."""
    context = from_environment()
    return None if context is None else Follower(context)


def shares_here(batch_size: int) -> Shares:
    """Of a global batch, under the scheduler or wherever this process was started (torchrun).

    Raises:
        MisuseError: it is not the job's, or does not divide.
    """
    context = from_environment()
    if context is None:
        return shares(batch_size, int(os.environ.get("WORLD_SIZE", "1")), batch_size)
    contract = context.orders.batch
    if batch_size != contract.initial_batch_size:
        raise MisuseError(
            f"the script trains with batches of {batch_size}, but initial_batch_size of the job "
            f"is {contract.initial_batch_size}: make them equal"
        )
    return shares(batch_size, context.workers, contract.max_batch_per_gpu)
