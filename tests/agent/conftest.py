"""Plays the supervisor's part: starts a generation of workers, asks them to yield, reads news."""

import math
import os
import struct
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import torch

from headway.agent import follower, loop, meter
from headway.core.types import BatchContract, BatchMode, JobReport
from headway.protocol import environment
from headway.protocol.messages import WorkerNews, WorkerOrders, decode_news, encode

torch.set_num_threads(1)  # the workers are forked, and a pool of threads does not survive that
# what torch imports at the first step, which every worker would do again
torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0).step()

Script = Callable[[Callable[[], None]], None]


@dataclass
class Outcome:
    """How one generation ended."""

    codes: list[int]
    news: list[WorkerNews]

    @property
    def reports(self) -> list[JobReport]:
        return [news.report for news in self.news if news.report is not None]


@dataclass
class Stage:
    """A job's folder and its generations. A script gets ``tick``, to be called once a pass."""

    folder: Path
    batch: BatchContract
    adapts: bool = False
    requested: int | None = None
    report_every_s: float = 0.05
    generation: int = 0
    outcomes: list[Outcome] = field(default_factory=list)

    def run(
        self, script: Script, workers: int = 1, *, yield_at: int | None = None, nodes: int = 1
    ) -> Outcome:
        """One generation; worker 0 raises the flag when it has ticked ``yield_at`` times."""
        self.generation += 1
        flag, orders = self.folder / f"flag{self.generation}", self.folder / "orders.json"
        flag.write_bytes(struct.pack("<q", self.generation))
        orders.write_bytes(encode(self._orders()))
        read_end, write_end = os.pipe()
        variables = {
            environment.ORDERS: str(orders),
            environment.FLAG: str(flag),
            environment.RENDEZVOUS: f"file://{self.folder}/meet{self.generation}",
            environment.NEWS_FD: str(write_end),
            "WORLD_SIZE": str(workers),
            "LOCAL_WORLD_SIZE": str(workers // nodes),
        }
        children = [
            self._fork(script, {**variables, "RANK": str(rank)}, flag, yield_at)
            for rank in range(workers)
        ]
        os.close(write_end)
        with os.fdopen(read_end, "rb") as pipe:
            lines = pipe.read().splitlines()
        codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
        outcome = Outcome(codes, [decode_news(line) for line in lines])
        self.outcomes.append(outcome)
        return outcome

    def model(self) -> dict[str, torch.Tensor]:
        """The parameters and buffers of the newest checkpoint."""
        path = max((self.folder / "checkpoints").glob("*.pt"))
        state: dict[str, torch.Tensor] = torch.load(path, weights_only=True)["parts"]["model"]
        return state

    def _orders(self) -> WorkerOrders:
        return WorkerOrders(
            job_id="job",
            generation=self.generation,
            job_dir=str(self.folder),
            batch=self.batch,
            requested_batch_size=self.requested or self.batch.initial_batch_size,
            adapts=self.adapts,
            report_every_s=self.report_every_s,
        )

    def _fork(
        self, script: Script, variables: dict[str, str], flag: Path, yield_at: int | None
    ) -> int:
        child = os.fork()
        if child:
            return child
        code = 1
        try:
            os.environ.update(variables)
            ticks = 0

            def tick() -> None:
                nonlocal ticks
                ticks += 1
                if ticks == yield_at and variables["RANK"] == "0":
                    flag.write_bytes(struct.pack("<q", self.generation + 1))

            script(tick)
            code = 0
        except SystemExit as leaving:
            code = int(leaving.code or 0)
        except BaseException:  # noqa: BLE001 - a forked child must never return
            traceback.print_exc(file=sys.__stderr__)
        finally:
            os._exit(code)


@pytest.fixture
def at_every_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """The workers agree at every step, so that they yield where a test says."""
    for module in (loop, follower):
        monkeypatch.setattr(module, "EVERY_S", 0.0)


@pytest.fixture
def stage(tmp_path: Path) -> Callable[..., Stage]:
    """Makes stages with an initial batch of 32."""

    def make(
        name: str = "job", *, initial: int = 32, most: int | None = None, **more: int
    ) -> Stage:
        folder = tmp_path / name
        folder.mkdir()
        contract = BatchContract(
            initial_batch_size=initial,
            max_batch_size=most or initial,
            max_batch_per_gpu=more.get("per_gpu", most or initial),
            mode=BatchMode.FIXED if most is None else BatchMode.ADAPTIVE,
        )
        return Stage(folder, contract, adapts=most is not None)

    return make


@pytest.fixture
def measured_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every other step is measured, on a busy machine as on an idle one.

    By default it is as many as there is time for: about 16 in a short test, which tell little.
    """
    for share in ("EARLY_SHARE", "MEASURE_SHARE"):
        monkeypatch.setattr(meter, share, math.inf)
