"""Workloads made from a seed: a mix of models and a day's wave of arrivals, by name.

``pollux-mix`` follows the evaluation of Pollux (OSDI'21, section 5.1 and table 1). There, jobs are
drawn from the busiest eight hours of Microsoft's trace by GPU time, and each class is played by
models of that size:

=========  ==========  ======  ====================
class      GPU-hours   share   models
=========  ==========  ======  ====================
small      0-1         72 %    cifar10, ncf
medium     1-10        20 %    deepspeech2, bert
large      10-100      6 %     yolov3
extra      100-1000    2 %     imagenet
=========  ==========  ======  ====================

160 jobs arrive in 8 h; the fourth hour has three times the rate of the first. The paper names these
two rates only: here the others lie on straight lines, up to the fourth hour and down to the first
hour's rate in the eighth. Every job draws its class, then a model of it, then one of the GPU counts
and batch sizes that Pollux's authors tuned for that model, each with equal chances.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from headway.core.errors import InvalidInputError
from headway.core.types import Float64, FloatArray
from headway.traces.assign import MODELS
from headway.traces.base import JobProfile, Workload, adaptive_job, workload

NAME = "pollux-mix"
STREAM = 1  # keeps these draws apart from those of a simulation with the same seed
JOBS_PER_HOUR = 20  # at load 1
MOST_JOBS = 1_000_000
HOUR_S = 3600.0
RATES = (1, 5 / 3, 7 / 3, 3, 5 / 2, 2, 3 / 2, 1)  # of arrival, in each eighth of the time
CLASSES = tuple(zip((0.72, 0.20, 0.06, 0.02), MODELS, strict=True))
# GPUs and batch size at which a model still has 50-80 % of ideal scaling, as in the workloads that
# were published with Pollux (petuum/adaptdl, branch osdi21-artifact; Apache-2.0)
TUNED: Mapping[str, tuple[tuple[int, int], ...]] = {
    "cifar10": ((6, 2048), (8, 2048), (12, 4096), (16, 4096)),
    "ncf": ((1, 32768),),
    "deepspeech2": ((6, 320), (8, 320), (12, 640)),
    "bert": ((6, 384), (8, 384), (12, 384), (16, 384)),
    "yolov3": ((4, 64),),
    "imagenet": ((24, 3200), (32, 6400), (48, 6400)),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Mix:
    """How many jobs, in how many hours."""

    jobs: int
    hours: float


def is_generator(text: str) -> bool:
    """Whether a workload of this name is made here, rather than read from a file."""
    return text.partition(":")[0] == NAME


def generate(text: str, profiles: Mapping[str, JobProfile], seed: int) -> Workload:
    """The workload that ``pollux-mix`` or ``pollux-mix:jobs=320,hours=4`` names.

    ``jobs`` is their number; ``load=2`` means twice as many an hour as there are by default.

    Raises:
        InvalidInputError: an unknown option, a value that makes no sense, or a profile missing.
    """
    mix = parse(text)
    missing = sorted(TUNED.keys() - profiles.keys())
    if missing:
        raise InvalidInputError(
            f"{NAME} needs profiles of {', '.join(missing)}; leave --profiles away to use the "
            "built-in ones"
        )
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(STREAM,)))
    shares = [share for share, _ in CLASSES]
    classes = rng.choice(len(CLASSES), size=mix.jobs, p=shares)
    jobs = []
    for index, at_s in enumerate(arrivals_s(mix, rng)):
        models = CLASSES[classes[index]][1]
        model = models[rng.integers(len(models))]
        profile = profiles[model]
        gpus, batch_size = TUNED[model][rng.integers(len(TUNED[model]))]
        job = adaptive_job(
            f"{model}-{index}",
            profile,
            submitted_s=float(at_s),
            requested_gpus=min(gpus, profile.max_gpus),
            requested_batch_size=min(batch_size, profile.contract.max_batch_size),
        )
        jobs.append((job, model))
    return workload(text, jobs, profiles)


def arrivals_s(mix: Mix, rng: np.random.Generator) -> Float64[FloatArray, " jobs"]:
    """Submissions in whole seconds, ascending: a Poisson process with RATES, given its count."""
    edges_s = np.linspace(0, mix.hours * HOUR_S, len(RATES) + 1)
    before = np.concatenate([[0.0], np.cumsum(RATES)]) / sum(RATES)
    times_s: FloatArray = np.interp(rng.random(mix.jobs), before, edges_s)
    return np.floor(np.sort(times_s))


def parse(text: str) -> Mix:
    """A generator's name and options.

    Raises:
        InvalidInputError: with the option and the fix.
    """
    name, _, rest = text.partition(":")
    if name != NAME:
        raise InvalidInputError(f"no generator is called {name!r}; there is {NAME}")
    options: dict[str, float] = {}
    for part in rest.split(",") if rest else ():
        key, equals, value = part.partition("=")
        if key not in ("jobs", "hours", "load"):
            raise InvalidInputError(f"{NAME} has no option {key!r}; it has jobs, hours, load")
        if key in options:
            raise InvalidInputError(f"{NAME}: {key} is given twice; give it once")
        if not equals:
            raise InvalidInputError(f"{NAME}: {key} needs a value, as in {NAME}:{key}=2")
        options[key] = _positive(key, value)
    return _mix(options)


def _mix(options: Mapping[str, float]) -> Mix:
    if "jobs" in options and "load" in options:
        raise InvalidInputError(f"{NAME}: jobs and load both set the number of jobs; give one")
    hours = options.get("hours", 8.0)
    jobs = options.get("jobs", float(round(JOBS_PER_HOUR * hours * options.get("load", 1.0))))
    if not (jobs.is_integer() and 1 <= jobs <= MOST_JOBS):
        asked = "jobs" if "jobs" in options else "hours x load"
        raise InvalidInputError(
            f"{NAME}: {asked} must make a whole number of jobs from 1 to {MOST_JOBS}, not {jobs:g}"
        )
    return Mix(jobs=int(jobs), hours=hours)


def _positive(key: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        raise InvalidInputError(f"{NAME}: {key} must be a number above 0, not {text!r}")
    return value
