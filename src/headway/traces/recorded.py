"""Jobs as a production cluster records them: when, how long, on how many GPUs, and no model."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import inf

from headway.core.errors import InvalidInputError

HOUR_S = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """One job of a trace."""

    name: str
    submitted_s: float  # from the start of the recording
    duration_s: float
    gpus: int
    tenant: str = "default"
    weight: float = 1.0

    @property
    def gpu_hours(self) -> float:
        """GPUs held times hours run."""
        return self.gpus * self.duration_s / HOUR_S


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """Some jobs of a trace, and what reading them dropped."""

    name: str
    jobs: tuple[Recorded, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """The jobs of one stretch of time, of one tenant; by default all."""

    from_h: float = 0.0
    hours: float = inf
    tenant: str | None = None

    def holds(self, submitted_s: float, tenant: str) -> bool:
        """Whether a job is one of them."""
        since_h = submitted_s / HOUR_S - self.from_h
        return 0 <= since_h < self.hours and self.tenant in {None, tenant}

    @property
    def from_s(self) -> float:
        """When the window begins, in seconds of the recording."""
        return self.from_h * HOUR_S

    def cut(self, recording: Recording) -> Recording:
        """Those jobs, in order of submission; time begins where the window does.

        Raises:
            InvalidInputError: there is none.
        """
        found = [job for job in recording.jobs if self.holds(job.submitted_s, job.tenant)]
        if not found:
            raise self.empty({job.tenant for job in recording.jobs})
        moved = [replace(job, submitted_s=job.submitted_s - self.from_s) for job in found]
        moved.sort(key=lambda job: (job.submitted_s, job.name))
        return replace(recording, jobs=tuple(moved))

    def empty(self, tenants: Iterable[str]) -> InvalidInputError:
        """What to say where no job is inside."""
        known = sorted(set(tenants))
        if self.tenant is not None and self.tenant not in known:
            return InvalidInputError(
                f"--tenant {self.tenant!r} has no job; there are {', '.join(known[:10])}"
            )
        span = "" if self.hours == inf else f"in the {self.hours:g} hours "
        return InvalidInputError(
            f"no job is submitted {span}from hour {self.from_h:g} on; "
            "choose another --from-h or --hours"
        )
