"""How the workers of a job agree: one all-reduce of a few numbers every so many steps.

Only worker 0 wishes; every worker may ask to stop. All learn the same at the same step, so no one
ever waits in a collective that another has left.
"""

from dataclasses import dataclass
from typing import final

import torch
import torch.distributed as dist

EVERY_S = 0.2  # about how often: the delay before a resize against the cost of a step


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What worker 0 wants all to do from here on."""

    batch_size: int
    batch_per_gpu: int
    exchange_every: int = 1  # steps until the next exchange
    measure_every: int = 1  # one step in so many is measured
    save: bool = False


@dataclass(frozen=True, slots=True)
class Agreed:
    """What all workers know after an exchange."""

    stop: bool
    wish: Wish
    sums: list[float]


@final
class Exchange:
    """The agreement of one generation of workers."""

    def __init__(self, worker: int, workers: int, group: dist.ProcessGroup | None = None) -> None:
        self._worker = worker
        self._workers = workers
        self._group = group

    def agree(self, *, stop: bool, wish: Wish, sums: list[float]) -> Agreed:
        """A collective: all workers call it at the same step, with as many ``sums``."""
        if self._workers == 1:
            return Agreed(stop, wish, sums)
        mine = _numbers(wish) if self._worker == 0 else [0] * len(_numbers(wish))
        vector = torch.tensor([float(stop), *mine, *sums], dtype=torch.float64)
        dist.all_reduce(vector, group=self._group)
        total = vector.tolist()
        after = 1 + len(mine)
        size, per_gpu, exchange_every, measure_every, save = (int(x) for x in total[1:after])
        agreed = Wish(
            batch_size=size,
            batch_per_gpu=per_gpu,
            exchange_every=exchange_every,
            measure_every=measure_every,
            save=bool(save),
        )
        return Agreed(total[0] > 0, agreed, total[after:])

    def leave(self) -> None:
        """Part from the others."""
        if dist.is_initialized():
            dist.destroy_process_group()

    def summed(self, counts: torch.Tensor) -> torch.Tensor:
        """The sum of a tensor over all workers."""
        total = counts.clone()
        if self._workers > 1:
            dist.all_reduce(total, group=self._group)
        return total


def _numbers(wish: Wish) -> list[int]:
    return [
        wish.batch_size,
        wish.batch_per_gpu,
        wish.exchange_every,
        wish.measure_every,
        int(wish.save),
    ]
