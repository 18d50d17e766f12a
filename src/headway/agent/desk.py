"""What worker 0 tells of its job: reports, batch changes, epochs read; and the decision log."""

import json
import os
import time
from collections.abc import Callable
from math import isfinite
from pathlib import Path
from typing import Protocol, final

import msgspec
import torch
from torch import Tensor

from headway.agent.checkpoint import LineLog
from headway.agent.context import Context
from headway.agent.noise import NoiseScale
from headway.agent.plan import Split
from headway.agent.reporter import Reporter, Trackers, finite
from headway.agent.tracking import figures, is_mark, told
from headway.agent.tuner import Tuner
from headway.core.types import BatchChange, ChangeCode, JobReport
from headway.protocol.messages import EpochCount, WorkerNews

# what a log needs to be replayed, and nobody else to know: that the job starts is known
MOST_LOSSES = 256  # kept one by one
_NO_NEWS = frozenset({ChangeCode.BEGAN, ChangeCode.MEASURING})
# steps in a row that may overflow: a GradScaler begins at 2^16 and halves; then it is the model
MOST_SKIPPED = 16


class Progress(Protocol):
    """How far the training is."""

    epoch: int
    samples: int
    progress_examples: float
    total_examples: float  # 0 while it is not known


@final
class Pace:
    """How long the rest takes at the speed since the last change, pauses included."""

    def __init__(self) -> None:
        self._since: tuple[float, float] | None = None  # seconds, examples

    def eta_s(self, progress: Progress, now_s: float) -> float | None:
        """Seconds to go; None while there is nothing to go by."""
        done = progress.progress_examples
        if self._since is None:
            self._since = now_s, done
        began_s, before = self._since
        left = progress.total_examples - done
        if progress.total_examples == 0 or done <= before or now_s <= began_s:
            return 0.0 if 0 < progress.total_examples <= done else None
        return max(left, 0.0) * (now_s - began_s) / (done - before)


@final
class Desk:
    """Keeps what is told about this worker's job; only worker 0 sends it."""

    def __init__(self, context: Context, folder: Path) -> None:
        self.metric: float | None = None  # the owner's, last value
        self._context = context
        self._reporter = Reporter(context.news_fd)
        self._decisions = LineLog(folder / "decisions.jsonl")
        self._reached_file = folder / "reached"
        self._reached: int | None = None  # the file, once it is open
        self._stepped = False
        self._switched_s: float | None = None
        self._reported_s = time.perf_counter()
        self._loss: Tensor | float = 0.0
        self._losses = 0
        self._recent: list[Tensor | float] = []  # since the last exchange, not in the sum yet
        self._taken: Tensor | float = 0.0  # of these, where they became too many
        self._takens = 0
        self._heard: list[Tensor | float] = []  # in the passes of this step
        self._overflowed = False  # this step
        self._overflows = 0  # in a row
        self.overflowing = False  # this step or the one before
        self.trackers = Trackers()
        self._pace = Pace()

    def stepped(self, switches: Callable[[], bool]) -> None:
        """All workers have made a step; the first time, that is news."""
        if self._stepped or not self._context.first:
            return
        self._stepped = True
        began_s = self._switched_s
        stall_s = None if began_s is None else time.perf_counter() - began_s
        self._reporter.send(WorkerNews(stepped=True, switches=switches(), stall_s=stall_s))

    def ready(self) -> None:
        """This newcomer can join at any moment."""
        self._reporter.send(WorkerNews(ready=True))

    def enter(self, context: Context, samples: int) -> None:
        """This worker is of another generation, and perhaps worker 0, from now on."""
        self._context, self._stepped = context, False
        self.trackers.go_on(samples)

    def joined(self, began_s: float | None) -> None:
        """All workers of this generation are together; training stood still since then."""
        self._switched_s = began_s
        if self._context.first:
            self._reporter.send(WorkerNews(joined=self._context.orders.generation))

    def hear_loss(self, loss: Tensor | float | None) -> None:
        """Of one pass."""
        if loss is not None:
            self._heard.append(loss.detach() if isinstance(loss, Tensor) else loss)

    def skip_step(self) -> None:
        """The gradients of this step overflowed: what its losses are says nothing of the model."""
        self._overflowed = self.overflowing = True

    def end_step(self) -> None:
        """What was heard counts, unless the step was skipped; kept on the device: the host does not
        wait."""
        self._overflows = self._overflows + 1 if self._overflowed else 0
        if self._overflows == 0 or self._overflows > MOST_SKIPPED:
            self._recent += self._heard
            if len(self._recent) >= MOST_LOSSES:
                self._add_up()
        self._heard, self._overflowed = [], False
        self.overflowing = self._overflows > 0

    def _add_up(self) -> None:
        total, heard = _sum(self._recent), len(self._recent)
        self._recent = []
        self._loss, self._losses = self._loss + total, self._losses + heard
        self._taken, self._takens = self._taken + total, self._takens + heard

    def saved(self, epochs: tuple[EpochCount, ...], samples: int | None = None) -> None:
        """A checkpoint is written, and these epochs with it; nothing was read since ``samples``."""
        if samples is not None:
            self._note(samples)
        if epochs:
            self._reporter.send(WorkerNews(epochs=epochs))

    def take_loss(self) -> list[float]:
        """Sum and count of the losses heard since this was last called. The host waits for them."""
        self._add_up()
        taken = [float(self._taken), float(self._takens)]
        self._taken, self._takens = 0.0, 0
        return taken

    def expect(self, samples: int) -> None:
        """So many will have been read when next something is said of it."""
        if self._context.first:
            self._note(samples)

    def _note(self, samples: int) -> None:
        """Eight bytes in place, which the kernel keeps: no crash of a process can lose them."""
        if self._reached is None:
            self._reached_file.parent.mkdir(parents=True, exist_ok=True)
            self._reached = os.open(self._reached_file, os.O_WRONLY | os.O_CREAT, 0o600)
        os.pwrite(self._reached, samples.to_bytes(8, "little"), 0)

    def lost_samples(self, samples: int) -> int:
        """How many more had been read, at most, where a worker was killed; for worker 0 to tell."""
        if not self._context.first:
            return 0
        lines = self._decisions.lines()
        logged = int(json.loads(lines[-1])["samples"]) if lines else 0
        noted = self._reached_file.read_bytes() if self._reached_file.exists() else b""
        return max(logged, int.from_bytes(noted, "little")) - samples

    def changed(self, change: BatchChange) -> None:
        """One record of the batch contract, into the log and to the agent."""
        if not self._context.first:
            return
        change = finite(change)
        self._decisions.append(msgspec.json.encode(change))
        if change.code not in _NO_NEWS:
            self._reporter.send(WorkerNews(changes=(change,)))
        if is_mark(change):
            self._pace = Pace()
            self.trackers.tell(lambda tracker: tracker.marker(told(change), change.samples))

    def due(self) -> bool:
        """Whether it is time for a report."""
        every_s = self._context.orders.report_every_s
        return self._context.first and time.perf_counter() - self._reported_s >= every_s

    def report(self, progress: Progress, split: Split, noise: NoiseScale, tuner: Tuner) -> None:
        """How the job is doing; nothing while its speed is unknown.

        The restart delay is for the agent to add: it alone was there before this generation.
        """
        self._reported_s = time.perf_counter()
        fit, errors = tuner.fit, tuner.step_errors(split)
        if not isfinite(fit.error):
            return
        self._add_up()
        loss = float(self._loss) / self._losses if self._losses else None
        self._loss, self._losses = 0.0, 0
        report = JobReport(
            throughput=fit.params,
            noise_scale=noise.estimate(),
            progress_examples=progress.progress_examples,
            batch_per_gpu=split.batch_per_gpu,
            accum_steps=split.accum_steps,
            batch_size=split.batch_size,
            fit_error=fit.error,
            noise_scale_error=noise.error(),
            noise_scale_reliable=noise.reliable,
            metric=self.metric,
            loss=loss,
            samples=progress.samples,
            epoch=progress.epoch,
            grad_by_type=fit.grad_by_type,
            step_error=errors.here,
            step_error_doubled=errors.doubled,
            fit_trouble=fit.trouble,
            eta_s=self._pace.eta_s(progress, self._reported_s),
            total_examples=progress.total_examples or None,
        )
        known = figures(finite(report), split.workers)
        self.trackers.tell(lambda tracker: tracker.scalars(known, progress.samples))
        self._reporter.send(WorkerNews(report=report))

    def close(self) -> None:
        """Give the agent a moment to read the rest."""
        self._reporter.flush()
        self.trackers.end()


def _sum(losses: list[Tensor | float]) -> Tensor | float:
    """At once where they are alike, as they are in almost any script."""
    scalars = [one for one in losses if isinstance(one, Tensor) and one.ndim == 0]
    if len(scalars) < len(losses) or len({(one.dtype, one.device) for one in scalars}) != 1:
        return sum(losses)
    together = torch.stack(scalars)
    return together.sum(dtype=torch.promote_types(together.dtype, torch.float32))
