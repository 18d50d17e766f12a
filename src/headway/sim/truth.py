"""How jobs really behave in a simulation: private, mutable, and never shown to a policy."""

import math
from collections.abc import Mapping
from typing import NamedTuple, final

import numpy as np

from headway.core.ids import JobId
from headway.core.model.efficiency import efficiency
from headway.core.model.schedule import batch_size_at, next_change
from headway.core.model.split import Choice
from headway.core.types import Allocation, FloatArray, JobSpec, Placement
from headway.sim.hardware import Hardware, Site
from headway.sim.trajectory import reached, trajectory
from headway.traces.base import JobProfile, Shape, Workload


class Speed(NamedTuple):
    """A job on a shape with a choice: times of a pass and a step, and what changes by epoch."""

    pass_s: float
    synced_s: float  # the last pass of a step, with synchronisation
    step_s: float
    throughput_per_s: float
    rates_per_s: tuple[float, ...]  # scale-invariant examples, for each epoch
    noise_scales: tuple[float, ...]  # as measured at this batch size, for each epoch


@final
class Speeds:
    """Looks speeds up in profiles and remembers them: few are distinct, and many are asked for."""

    def __init__(self, hardware: Hardware | None = None) -> None:
        self._hardware = hardware or Hardware()
        self._known: dict[tuple[str, int, Site, Choice], Speed] = {}
        self.outside: set[tuple[str, Shape, int]] = set()  # queries beyond what was measured

    def of(self, profile: JobProfile, initial_batch_size: int, site: Site, at: Choice) -> Speed:
        """The speed of a job of this profile, efficiency counted from its initial batch size."""
        key = (profile.name, initial_batch_size, site, at)
        speed = self._known.get(key)
        if speed is None:
            if not profile.measured(site.shape, at.batch_per_gpu):
                self.outside.add((profile.name, site.shape, at.batch_per_gpu))
            times_s = self._hardware.times_s(profile, site, np.array([float(at.batch_per_gpu)]))
            speed = self._known[key] = _speed(profile, initial_batch_size, times_s, at)
        return speed


def _speed(
    profile: JobProfile,
    initial_batch_size: int,
    times_s: tuple[FloatArray, FloatArray],
    at: Choice,
) -> Speed:
    pass_s, last_s = float(times_s[0][0]), float(times_s[1][0])
    step_s = at.accum_steps * pass_s + last_s
    noise = profile.noise_scales(np.array([float(at.batch_size)]))[:, 0]
    worth = efficiency(noise, initial_batch_size, at.batch_size)
    throughput_per_s = at.batch_size / step_s
    return Speed(
        pass_s=pass_s,
        synced_s=last_s,
        step_s=step_s,
        throughput_per_s=throughput_per_s,
        rates_per_s=tuple((throughput_per_s * worth).tolist()),
        noise_scales=tuple(noise.tolist()),
    )


@final
class JobTruth:
    """One job: what it holds, how it splits its batch, and how far it has come.

    Time passes for it only in ``advance``; between two calls its rate changes only where an epoch
    ends, so progress is exact.
    """

    def __init__(self, spec: JobSpec, profile: JobProfile, speeds: Speeds) -> None:
        self.spec = spec
        self.profile = profile
        self.speeds = speeds
        self.work = spec.work_examples or profile.work_examples
        self.ends = tuple(share * self.work for share in profile.epoch_ends)
        self.trajectory = trajectory(spec, profile)  # of a batch that changes by itself
        self.progress = 0.0
        self.epoch = 0
        self.samples = 0.0
        self.at_s = spec.submitted_s
        self.ready_s = math.inf  # when the first step on this allocation is made
        self.restart_s: float | None = None  # how long it took to get there
        self.restart_factor = 1.0  # times the usual restart delay
        self.started = False  # whether that has been said
        self.pace = 1.0  # share of its speed that its neighbours leave it
        self.allocation = Allocation()
        self.site = Site()
        self.told = Placement(0, 0)  # as far as its agent knows
        self.generation = 0
        self.choice: Choice | None = None
        self.speed: Speed | None = None

    def hold(
        self,
        allocation: Allocation,
        generation: int,
        *,
        site: Site,
        told: Placement,
        now_s: float,
        restart_s: float,
    ) -> None:
        """Give it GPUs; it makes no progress before it has restarted on them."""
        self.allocation = allocation
        self.site = site
        self.told = told
        self.generation = generation
        self.at_s = now_s
        self.ready_s = now_s + restart_s
        self.restart_s = restart_s
        self.started = False

    def tune(self, choice: Choice) -> None:
        """Split its batch like this from now on."""
        self.choice = choice
        batch = self.spec.batch
        # where the batch changes by itself, every example counts as one: epochs are what they are
        counted_from = choice.batch_size if batch.follows else batch.initial_batch_size
        self.speed = self.speeds.of(self.profile, counted_from, self.site, choice)

    def own_batch_size(self) -> int:
        """The size that its schedule or rule asks for now."""
        return batch_size_at(self.trajectory, reached(self.samples))

    def own_change_s(self) -> float:
        """When that is another one, if nothing else changes."""
        at = next_change(self.trajectory, reached(self.samples))
        if at is None or self.speed is None:
            return math.inf
        left_s = (at - self.samples) / (self.pace * self.speed.throughput_per_s)
        return max(self.at_s, self.ready_s) + left_s

    def epoch_ends_s(self) -> float:
        """When its present epoch ends, if nothing changes."""
        if self.speed is None:
            return math.inf
        left = self.ends[self.epoch] - self.progress
        rate_per_s = self.pace * self.speed.rates_per_s[self.epoch]
        return max(self.at_s, self.ready_s) + left / rate_per_s

    def advance(self, to_s: float) -> float | None:
        """Let time pass; the moment of its end, if that lies on the way."""
        at_s, speed = max(self.at_s, self.ready_s), self.speed
        self.at_s = to_s
        if speed is None:
            return None
        while at_s < to_s:
            rate_per_s = self.pace * speed.rates_per_s[self.epoch]
            end = self.ends[self.epoch]
            needed_s = (end - self.progress) / rate_per_s
            if at_s + needed_s > to_s:
                self.progress += rate_per_s * (to_s - at_s)
                self.samples += self.pace * speed.throughput_per_s * (to_s - at_s)
                return None
            at_s += needed_s
            self.progress = end
            self.samples += self.pace * speed.throughput_per_s * needed_s
            if self.epoch + 1 == len(self.ends):
                return at_s
            self.epoch += 1
        return None


def truths(workload: Workload, speeds: Speeds) -> Mapping[JobId, JobTruth]:
    """The truth of every job of a workload."""
    return {
        job.job_id: JobTruth(job, workload.profile_of(job.job_id), speeds) for job in workload.jobs
    }
