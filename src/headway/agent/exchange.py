"""How the workers of a job agree: one all-reduce of a few numbers every so many steps.

Only worker 0 wishes; every worker may ask to stop. All learn the same at the same step, so no one
ever waits in a collective that another has left.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import final

import numpy as np
import torch
import torch.distributed as dist
from numpy.typing import NDArray

LETTER_BYTES = 1 << 16
_SIZE_BYTES = 8
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


def meet(
    rendezvous: str | None, worker: int, workers: int, *, patience_s: float | None = None
) -> None:
    """Join the other workers of a generation. Numbers to agree on stay on the host."""
    dist.init_process_group(
        "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo",
        init_method=rendezvous,
        rank=worker,
        world_size=workers,
        timeout=None if patience_s is None else timedelta(seconds=patience_s),
    )


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

    def tell(self, body: bytes) -> bytes:
        """A collective: what worker 0 says, which all learn."""
        if self._workers == 1:
            return body
        start = bytearray(LETTER_BYTES)  # a short one needs one exchange, and not two
        start[:_SIZE_BYTES] = len(body).to_bytes(_SIZE_BYTES, "little")
        start[_SIZE_BYTES:] = body[: LETTER_BYTES - _SIZE_BYTES].ljust(LETTER_BYTES - _SIZE_BYTES)
        dist.broadcast(torch.frombuffer(start, dtype=torch.uint8), 0)
        size = int.from_bytes(start[:_SIZE_BYTES], "little")
        rest = bytearray(body[LETTER_BYTES - _SIZE_BYTES :] if self._worker == 0 else b"")
        missing = size - (LETTER_BYTES - _SIZE_BYTES)
        if missing > 0:
            rest = rest or bytearray(missing)
            dist.broadcast(torch.frombuffer(rest, dtype=torch.uint8), 0)
        return bytes((start[_SIZE_BYTES:] + rest)[:size])

    def enter(
        self, worker: int, workers: int, *, rendezvous: str | None, patience_s: float
    ) -> None:
        """A collective: be among others from now on, who come soon or not at all."""
        self._worker, self._workers = worker, workers
        if workers > 1:
            meet(rendezvous, worker, workers, patience_s=patience_s)

    def equal(self, numbers: list[int]) -> list[bool]:
        """A collective: which of these are the same on all workers."""
        if self._workers == 1:
            return [True] * len(numbers)
        both = torch.tensor([numbers, [-number for number in numbers]], dtype=torch.int64)
        dist.all_reduce(both, dist.ReduceOp.MAX)
        most, least = both[0], -both[1]
        return [bool(same) for same in most == least]

    def be_patient(self) -> None:
        """Wait for each other as long as is usual, now that all are here."""
        if self._workers > 1:
            dist.distributed_c10d._set_pg_timeout(dist.default_pg_timeout)

    def leave(self) -> None:
        """Part from the others."""
        if dist.is_initialized():
            dist.destroy_process_group()

    def added_up(self, counts: NDArray[np.int32]) -> NDArray[np.int32]:
        """The sum of an array over all workers; of one alone the array itself."""
        return counts if self._workers == 1 else self.summed(torch.from_numpy(counts)).numpy()

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
