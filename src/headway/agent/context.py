"""Which worker this process is: from the environment to one value."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from headway.core.errors import InvalidInputError
from headway.core.model.choice import FITTERS
from headway.protocol.environment import (
    FLAG,
    GPU_TYPE,
    JOINS,
    NEWS_FD,
    ORDERS,
    PLAN,
    RENDEZVOUS,
    SWITCH,
    THROUGHPUT,
)
from headway.protocol.messages import WorkerOrders, decode_orders


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """All that a worker was told at its start."""

    orders: WorkerOrders
    worker: int = 0
    workers: int = 1
    local_worker: int = 0
    nodes: int = 1
    flag: Path | None = None
    news_fd: int | None = None
    rendezvous: str | None = None
    plan: Path | None = None  # where a switch is ordered; None: these workers cannot
    joins: bool = False  # a newcomer to workers that are training
    gpu_type: str | None = None  # of its node; None: not told
    throughput: str = "linear"  # which throughput models are fitted, one of choice.FITTERS

    @property
    def first(self) -> bool:
        """Worker 0 decides, saves and reports for all."""
        return self.worker == 0

    @property
    def job_dir(self) -> Path:
        return Path(self.orders.job_dir)


def from_environment(env: Mapping[str, str] = os.environ) -> Context | None:
    """The worker that the environment describes; None outside the scheduler.

    Raises:
        InvalidInputError: there are orders, but they or a variable cannot be read.
    """
    path = env.get(ORDERS)
    if path is None:
        return None
    try:
        orders = Path(path).read_bytes()
    except OSError as error:
        raise InvalidInputError(f"{ORDERS}: {error}") from None
    workers = _count(env, "WORLD_SIZE", 1)
    local_workers = _count(env, "LOCAL_WORLD_SIZE", workers)
    rendezvous = env.get(RENDEZVOUS)
    if workers > 1 and rendezvous is None:
        raise InvalidInputError(f"{RENDEZVOUS} is missing, but WORLD_SIZE is {workers}")
    return Context(
        orders=decode_orders(orders),
        worker=_count(env, "RANK", 0),
        workers=workers,
        local_worker=_count(env, "LOCAL_RANK", 0),
        nodes=-(-workers // max(local_workers, 1)),
        flag=Path(env[FLAG]) if FLAG in env else None,
        news_fd=_count(env, NEWS_FD, 0) if NEWS_FD in env else None,
        rendezvous=rendezvous,
        plan=Path(env[PLAN]) if PLAN in env and env.get(SWITCH) != "0" else None,
        joins=env.get(JOINS) == "1",
        gpu_type=env.get(GPU_TYPE),
        throughput=_throughput(env),
    )


def _count(env: Mapping[str, str], name: str, default: int) -> int:
    text = env.get(name, str(default))
    if not text.isdecimal():
        raise InvalidInputError(f"{name}: {text!r} is not a count")
    return int(text)


def _throughput(env: Mapping[str, str]) -> str:
    text = env.get(THROUGHPUT, "linear")
    if text not in FITTERS:
        raise InvalidInputError(f"{THROUGHPUT}: {text!r} is not one of {', '.join(FITTERS)}")
    return text


class Flag:
    """The generation that the agent wants: eight bytes of a file, read at every step.

    Read, not mapped: a file that somebody truncates would kill a worker that has it mapped.
    """

    def __init__(self, path: Path | None, generation: int) -> None:
        self._generation = generation
        self._fd = None if path is None else os.open(path, os.O_RDONLY | os.O_CLOEXEC)

    def enter(self, generation: int) -> None:
        """This worker is of another generation now."""
        self._generation = generation

    def raised(self) -> bool:
        """Whether another generation than this worker's is wanted."""
        return self.wanted() != self._generation

    def wanted(self) -> int:
        """The generation that is wanted."""
        wanted = b"" if self._fd is None else os.pread(self._fd, 8, 0)
        if len(wanted) != 8:
            return self._generation
        return int.from_bytes(wanted, "little", signed=True)
