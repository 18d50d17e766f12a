"""Slots of one node: what there is, and who holds which."""

import os
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Self

from headway.core.ids import JobId

ASK_S = 20.0  # the first call of nvidia-smi after a start loads the driver


@dataclass(frozen=True, slots=True, kw_only=True)
class Slots:
    """What a node offers: GPUs by their names, or just CPU slots."""

    count: int
    devices: tuple[str, ...] = ()  # what CUDA_VISIBLE_DEVICES calls them; none: CPU slots
    gpu_type: str = "cpu"

    @classmethod
    def found(cls, *, cpu_slots: int, env: Mapping[str, str] | None = None) -> Self:
        """The GPUs that this process may use; where there are none, so many CPU slots."""
        gpus = _gpus()
        visible = (os.environ if env is None else env).get("CUDA_VISIBLE_DEVICES")
        names = tuple(gpus) if visible is None else _named(visible)
        if not gpus or not names:
            return cls(count=cpu_slots)
        return cls(count=len(names), devices=names, gpu_type=next(iter(gpus.values())))


@dataclass
class SlotTable:
    """Who holds which slot. A slot has one holder at most."""

    count: int
    _held: dict[JobId, tuple[int, ...]] = field(default_factory=dict)

    def free(self) -> tuple[int, ...]:
        taken = {slot for slots in self._held.values() for slot in slots}
        return tuple(slot for slot in range(self.count) if slot not in taken)

    def held(self, job_id: JobId) -> tuple[int, ...]:
        return self._held.get(job_id, ())

    def choose(self, job_id: JobId, gpus: int, prefer: Iterable[int]) -> tuple[int, ...] | None:
        """Slots for a job, those it holds first; None: there are not enough as yet."""
        own = self.held(job_id)
        preferred = [slot for slot in prefer if slot in own]
        rest = [slot for slot in own if slot not in preferred]
        chosen = [*preferred, *rest, *self.free()][:gpus]
        return tuple(sorted(chosen)) if len(chosen) == gpus else None

    def add(self, job_id: JobId, slots: Iterable[int]) -> None:
        """These too are the job's now."""
        self._held[job_id] = tuple(sorted({*self.held(job_id), *slots}))

    def keep(self, job_id: JobId, slots: Iterable[int]) -> None:
        """Only these are the job's from now on."""
        self._held[job_id] = tuple(sorted(slots))
        if not self._held[job_id]:
            del self._held[job_id]

    def holds(self) -> dict[JobId, tuple[int, ...]]:
        return dict(self._held)


def _named(visible: str) -> tuple[str, ...]:
    """The entries before the first one that is no device, as CUDA reads the variable."""
    names: list[str] = []
    for name in visible.split(","):
        if name.strip() in {"", "-1"}:
            break
        names.append(name.strip())
    return tuple(names)


def _gpus() -> dict[str, str]:
    """Index and model of each NVIDIA GPU of this machine."""
    query = ("nvidia-smi", "--query-gpu=index,name", "--format=csv,noheader")
    if shutil.which(query[0]) is None:
        return {}
    try:
        answer = subprocess.run(query, capture_output=True, text=True, timeout=ASK_S, check=True)
    except (subprocess.SubprocessError, OSError):
        return {}
    lines = [line.split(",", 1) for line in answer.stdout.splitlines() if "," in line]
    return {index.strip(): name.strip() for index, name in lines}
