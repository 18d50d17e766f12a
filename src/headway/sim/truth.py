"""How jobs really behave in a simulation: private, mutable, and never shown to a policy."""

import math
from collections.abc import Mapping
from typing import NamedTuple, final

import numpy as np

from headway.core.ids import JobId
from headway.core.model.efficiency import efficiency
from headway.core.model.schedule import batch_size_at, next_change
from headway.core.model.split import Choice, split_batch
from headway.core.types import Allocation, FloatArray, JobSpec, Placement
from headway.sim.hardware import Hardware, Site
from headway.sim.schedule import reached, schedule_of
from headway.traces.base import JobProfile, Shape, Workload
from headway.traces.trajectory import Trajectory


class Speed(NamedTuple):
    """A job on a shape with a choice: times of a pass and a step, and what changes by epoch."""

    pass_s: float
    synced_s: float  # the last pass of a step, with synchronisation
    step_s: float
    batch_size: int
    throughput_per_s: float
    rates_per_s: tuple[float, ...]  # scale-invariant examples, for each epoch
    noise_scales: tuple[float, ...]  # as measured at this batch size, for each epoch


class Turn(NamedTuple):
    """A job has changed its batch size by its own rule."""

    at_s: float
    samples: int  # read before
    epoch: int  # the first at the new size
    before: Choice
    after: Choice


@final
class Speeds:
    """Looks speeds up in profiles and remembers them: few are distinct, and many are asked for."""

    def __init__(self, hardware: Hardware | None = None) -> None:
        self._hardware = hardware or Hardware()
        # by the object: names are only distinct inside a workload; held, so that no id comes twice
        self._profiles: dict[int, JobProfile] = {}
        self._known: dict[tuple[int, int, Site, Choice], Speed] = {}
        self.outside: set[tuple[str, Shape, int]] = set()  # queries beyond what was measured

    def of(self, profile: JobProfile, initial_batch_size: int, site: Site, at: Choice) -> Speed:
        """The speed of a job of this profile, efficiency counted from its initial batch size."""
        key = (id(self._profiles.setdefault(id(profile), profile)), initial_batch_size, site, at)
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
        batch_size=at.batch_size,
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

    def __init__(
        self,
        spec: JobSpec,
        profile: JobProfile,
        speeds: Speeds,
        trajectory: Trajectory | None = None,
    ) -> None:
        self.spec = spec
        self.profile = profile
        self.speeds = speeds
        self.trajectory = trajectory
        # batch sizes by the samples read, of a job that says so in its contract
        self.schedule = schedule_of(spec, profile) if trajectory is None else ()
        self.turns: list[Turn] = []  # batch changes that nobody has been told of
        self.work = spec.work_examples or profile.work_examples
        self.ends = tuple(share * self.work for share in profile.epoch_ends)
        if trajectory is not None:
            self.work, self.ends = trajectory.work_examples, trajectory.stage_ends
        self.progress = 0.0
        self.stage = 0  # an epoch of the profile, or a stage of the trajectory
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

    def change_s(self) -> float:
        """When its schedule asks for another batch size, if nothing else changes."""
        at = next_change(self.schedule, reached(self.samples))
        if at is None or self.speed is None:
            return math.inf
        left_s = (at - self.samples) / (self.pace * self.speed.throughput_per_s)
        return max(self.at_s, self.ready_s) + left_s

    @property
    def epoch(self) -> int:
        """The epoch that it is in."""
        if self.trajectory is None:
            return self.stage
        return int(self.progress / self.trajectory.samples_per_epoch)

    @property
    def batch_size(self) -> int:
        """The batch size that it wants where no agent chooses one."""
        if self.trajectory is not None:
            return self.trajectory.batch_sizes[self.stage]
        if self.schedule:
            return batch_size_at(self.schedule, reached(self.samples))
        return self.spec.requested_batch_size

    @property
    def noise_scale(self) -> float | None:
        """As measured now; a trajectory says when the batch changes, and nothing of the noise."""
        if self.speed is None or self.trajectory is not None:
            return None
        return self.speed.noise_scales[self.stage]

    def rate_per_s(self, speed: Speed) -> float:
        """Scale-invariant examples a second at this speed, as far as its neighbours leave it."""
        if self.trajectory is None:
            return self.pace * speed.rates_per_s[self.stage]
        return self.pace * self.trajectory.rate_per_s(speed.batch_size, speed.step_s)

    def epoch_ends_s(self) -> float:
        """When its present epoch, or stage, ends if nothing changes."""
        if self.speed is None:
            return math.inf
        left = self.ends[self.stage] - self.progress
        return max(self.at_s, self.ready_s) + left / self.rate_per_s(self.speed)

    def advance(self, to_s: float) -> float | None:
        """Let time pass; the moment of its end, if that lies on the way."""
        at_s = max(self.at_s, self.ready_s)
        self.at_s = to_s
        while at_s < to_s and self.speed is not None:
            speed = self.speed
            rate_per_s = self.rate_per_s(speed)
            end = self.ends[self.stage]
            needed_s = (end - self.progress) / rate_per_s
            reads_per_s = rate_per_s
            if self.trajectory is None:
                reads_per_s = self.pace * speed.throughput_per_s
            if at_s + needed_s > to_s:
                self.progress += rate_per_s * (to_s - at_s)
                self.samples += reads_per_s * (to_s - at_s)
                return None
            at_s += needed_s
            self.progress = end
            self.samples += reads_per_s * needed_s
            if self.stage + 1 == len(self.ends):
                return at_s
            self.stage += 1
            self._follow(at_s)
        return None

    def _follow(self, at_s: float) -> None:
        """A new stage of the trajectory has its own batch size, from its first step on."""
        if self.trajectory is None or self.choice is None:
            return
        before, first = self.choice, self.trajectory.stages[self.stage][0]
        after = split_batch(self.spec.batch, self.batch_size, self.allocation.gpus)
        self.tune(after)
        self.turns.append(Turn(at_s, int(self.samples), first, before, after))


def truths(workload: Workload, speeds: Speeds) -> Mapping[JobId, JobTruth]:
    """The truth of every job of a workload."""
    return {
        job.job_id: JobTruth(
            job, workload.profile_of(job.job_id), speeds, workload.trajectories.get(job.job_id)
        )
        for job in workload.jobs
    }
