"""What the workers of a generation are given: orders, a flag, pipes and their environment."""

import os
import socket
import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from headway.agent.crew import Crew, Pipe, Worker
from headway.agent.forkserver import Seat
from headway.agent.program import Program, Start
from headway.core.types import JobSpec
from headway.protocol.environment import FLAG, NEWS_FD, ORDERS, RENDEZVOUS
from headway.protocol.jobdir import JobDir, write_whole
from headway.protocol.messages import Directive, WorkerOrders, encode


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Where the workers of one job are seated, generation after generation."""

    job: JobSpec
    where: JobDir
    program: Program
    workdir: str
    attaches: bool  # its workers report their steps
    devices: tuple[str, ...]  # names of the GPUs by slot; none: slots are CPU slots

    def lay(self, directive: Directive) -> tuple[Crew, tuple[Seat, ...]]:
        """A crew for these slots, and what each of its processes is to be given."""
        alone = self.program.start is Start.ALONE
        ranks = 1 if alone else len(directive.slots)
        workers = [
            Worker(rank=rank, stderr=Pipe(), news=None if alone or rank else Pipe())
            for rank in range(ranks)
        ]
        common = self._devices_of(directive)
        if alone:
            common |= _for_launchers(directive)
        else:
            self.raise_flag(directive.generation)
            write_whole(self._orders, encode(self._order(directive)))
            common |= self._common(directive, ranks)
        crew = Crew(directive.generation, workers, alone)
        return crew, tuple(_seat(worker, workers, common, alone=alone) for worker in workers)

    def raise_flag(self, generation: int) -> None:
        """Tell the workers which generation is wanted; those of another save and leave.

        Written in place, never replaced: workers may have the file mapped into their memory.
        """
        flag = os.open(self._flag, os.O_WRONLY | os.O_CREAT, 0o600)
        try:
            os.pwrite(flag, generation.to_bytes(8, "little", signed=True), 0)
        finally:
            os.close(flag)

    @property
    def _flag(self) -> Path:
        return self.where.path / "flag"

    @property
    def _orders(self) -> Path:
        return self.where.path / "orders.json"

    def _order(self, directive: Directive) -> WorkerOrders:
        return WorkerOrders(
            job_id=self.job.job_id,
            generation=directive.generation,
            job_dir=str(self.where.path),
            batch=self.job.batch,
            requested_batch_size=self.job.requested_batch_size,
            adapts=directive.adapts,
            work_examples=self.job.work_examples,
            report_every_s=directive.report_every_s,
        )

    def _devices_of(self, directive: Directive) -> dict[str, str]:
        """Each worker sees all GPUs of its job and takes the one of its LOCAL_RANK.

        So peers can reach each other's memory, and scripts that select by LOCAL_RANK are right.
        """
        names = [self.devices[slot] for slot in directive.slots if self.devices]
        return {"CUDA_VISIBLE_DEVICES": ",".join(names)}

    def _common(self, directive: Directive, ranks: int) -> dict[str, str]:
        meeting = f"rendezvous-{directive.generation}-{os.getpid()}-{time.monotonic_ns()}"
        for old in self.where.path.glob("rendezvous-*"):
            old.unlink()
        return {
            "WORLD_SIZE": str(ranks),
            "LOCAL_WORLD_SIZE": str(ranks),
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(_free_port()),
            ORDERS: str(self._orders),
            FLAG: str(self._flag),
            RENDEZVOUS: f"file://{self.where.path / meeting}",
        }


def _seat(worker: Worker, crew: list[Worker], common: Mapping[str, str], *, alone: bool) -> Seat:
    env = dict(common)
    if not alone:
        env |= {"RANK": str(worker.rank), "LOCAL_RANK": str(worker.rank)}
    if worker.news is not None:
        env[NEWS_FD] = str(worker.news.far_end)
    pipes = [pipe for other in crew for pipe in (other.stderr, other.news) if pipe is not None]
    own = (worker.stderr, worker.news)
    others = [pipe.far_end for pipe in pipes if pipe not in own]
    return Seat(
        rank=worker.rank,
        env=env,
        stderr=worker.stderr.far_end,
        news=worker.news.far_end if worker.news else None,
        close=tuple([pipe.end for pipe in pipes] + others),
    )


def _for_launchers(directive: Directive) -> dict[str, str]:
    """What torchrun takes where its command line says nothing: all slots, and a port of its own."""
    return {
        "PET_NPROC_PER_NODE": str(len(directive.slots)),
        "PET_MASTER_PORT": str(_free_port()),
    }


def _free_port() -> int:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
