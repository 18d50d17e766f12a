"""What the workers of a generation are given: orders, a flag, pipes and their environment."""

import os
import socket
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from headway.agent.crew import Crew, Pipe, Worker
from headway.agent.forkserver import Seat
from headway.agent.program import Program, Start
from headway.agent.switching import Switching
from headway.core.types import JobSpec
from headway.protocol.environment import FLAG, JOINS, NEWS_FD, ORDERS, PLAN, RENDEZVOUS
from headway.protocol.jobdir import JobDir, write_whole
from headway.protocol.messages import Directive, SwitchPlan, WorkerOrders, encode


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Where the workers of one job are seated, generation after generation."""

    job: JobSpec
    where: JobDir
    program: Program
    workdir: str
    attaches: bool  # its workers report their steps
    devices: tuple[str, ...]  # names of the GPUs by slot; none: slots are CPU slots
    patience_s: float  # how long workers wait for each other in a switch

    def lay(self, directive: Directive) -> tuple[Crew, tuple[Seat, ...]]:
        """A crew for these slots, and what each of its processes is to be given."""
        alone = self.program.start is Start.ALONE
        slots = directive.slots[:1] if alone else directive.slots
        workers = [_worker(rank, slot, alone=alone) for rank, slot in enumerate(slots)]
        crew = Crew(directive.generation, workers, alone)
        common = self._devices_of(directive.slots)
        if alone:
            common |= _for_launchers(directive)
        else:
            self.withdraw()
            self.raise_flag(directive.generation)
            common |= self._common(directive, len(workers), keep="")
        return crew, tuple(_seat(worker, crew, common) for worker in workers)

    def invite(self, directive: Directive, crew: Crew) -> tuple[Switching, tuple[Seat, ...]]:
        """A switch of a crew to these slots, and what each newcomer is to be given.

        Who stays keeps its slot and comes first, in the old order.
        """
        staying = [worker for worker in crew.workers if worker.slot in directive.slots]
        taken = [worker.slot for worker in staying]
        fresh = [slot for slot in directive.slots if slot not in taken]
        coming = [_worker(rank, slot) for rank, slot in enumerate(fresh, start=len(staying))]
        crew.coming = coming
        common = self._devices_of((*taken, *fresh))
        common |= self._common(directive, len(directive.slots), keep=f"{crew.generation}-")
        plan = SwitchPlan(
            ranks=tuple(
                staying.index(worker) if worker in staying else None for worker in crew.workers
            ),
            workers=len(directive.slots),
            rendezvous=common[RENDEZVOUS],
            patience_s=self.patience_s,
            orders=self._order(directive),
        )
        common[JOINS] = "1"
        # nobody to meet yet: who tries, as to shard a model, fails at once and is not waited for
        del common["MASTER_ADDR"], common["MASTER_PORT"]
        switching = Switching(crew, directive, plan, staying)
        return switching, tuple(_seat(worker, crew, common) for worker in coming)

    def order(self, plan: SwitchPlan) -> None:
        """Have the workers switch at their next step boundary."""
        write_whole(self._plan, encode(plan))
        self.raise_flag(plan.orders.generation)

    def withdraw(self) -> None:
        """There is no switch any more: who sees the flag saves and leaves."""
        self._plan.unlink(missing_ok=True)

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

    @property
    def _plan(self) -> Path:
        return self.where.path / "switch.json"

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

    def _devices_of(self, slots: Sequence[int]) -> dict[str, str]:
        """Each worker sees all GPUs of its job and takes the one of its LOCAL_RANK.

        So peers can reach each other's memory, and scripts that select by LOCAL_RANK are right.
        """
        names = [self.devices[slot] for slot in slots if self.devices]
        return {"CUDA_VISIBLE_DEVICES": ",".join(names)}

    def _common(self, directive: Directive, ranks: int, *, keep: str) -> dict[str, str]:
        """``keep``: whose meeting is still going on."""
        write_whole(self._orders, encode(self._order(directive)))
        meeting = f"rendezvous-{directive.generation}-{os.getpid()}-{time.monotonic_ns()}"
        for old in self.where.path.glob("rendezvous-*"):
            if not keep or not old.name.startswith(f"rendezvous-{keep}"):
                old.unlink()
        return {
            "WORLD_SIZE": str(ranks),
            "LOCAL_WORLD_SIZE": str(ranks),
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(_free_port()),
            ORDERS: str(self._orders),
            FLAG: str(self._flag),
            PLAN: str(self._plan),
            RENDEZVOUS: f"file://{self.where.path / meeting}",
        }


def _worker(rank: int, slot: int, *, alone: bool = False) -> Worker:
    return Worker(rank=rank, stderr=Pipe(), news=None if alone else Pipe(), slot=slot)


def _seat(worker: Worker, crew: Crew, common: Mapping[str, str]) -> Seat:
    env = dict(common)
    if not crew.alone:
        env |= {"RANK": str(worker.rank), "LOCAL_RANK": str(worker.rank)}
    if worker.news is not None:
        env[NEWS_FD] = str(worker.news.far_end)
    own = [pipe.far_end for pipe in worker.pipes]
    ours = [end for other in crew.everyone for pipe in other.pipes for end in pipe.ours]
    return Seat(
        rank=worker.rank,
        env=env,
        stderr=worker.stderr.far_end,
        news=worker.news.far_end if worker.news else None,
        close=tuple(end for end in ours if end not in own),
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
