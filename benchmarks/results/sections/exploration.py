"""What it costs that agents must explore: learned models against those of an oracle."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from benchmarks.results.command import Command, simulation
from benchmarks.results.figures import Figure, Results, Section, percent
from benchmarks.results.scope import Scope
from benchmarks.results.sections.loads import run

ABOUT = """
With `sim.models=oracle` an agent has the fit of its whole profile from the start; the cap of
twice the most GPUs ever held stays. Longer by: mean JCT with learned models over mean JCT with
known ones, minus 1, over the jobs of one application in all workloads; the shortest applications
stand first. Below zero, what one application lost another has won, or a learned model was the
better one: it is closest where its job runs, that of a whole profile everywhere alike.
"""
PUBLISHED = {"cifar10": "2–5 %", "imagenet": "nothing measurable"}


def exploration(scope: Scope) -> Section:
    """Shown for each application; nothing is asked."""
    learned = tuple(run("1.0", each) for each in scope.workloads)
    known = tuple(simulation("pollux", each, "sim.models=oracle") for each in scope.workloads)
    return Section(
        key="exploration",
        title="What exploring costs",
        about=ABOUT,
        commands=(*learned, *known),
        figures=lambda results: _figures(_jct_s(results, learned), _jct_s(results, known)),
    )


def _jct_s(results: Results, runs: Sequence[Command]) -> Mapping[str, float]:
    """Mean JCT by application; nothing where a run is missing."""
    records = [results.get(command) for command in runs]
    found: dict[str, list[float]] = defaultdict(list)
    for record in records:
        if record is None:
            return {}
        for job in record.jobs:
            found[job.name.rpartition("-")[0]].append(job.jct_s)
            found["all jobs"].append(job.jct_s)
    return {name: sum(values) / len(values) for name, values in found.items()}


def _figures(learned: Mapping[str, float], known: Mapping[str, float]) -> list[Figure]:
    names = sorted(known.keys() - {"all jobs"}, key=lambda name: known[name])
    return [
        Figure(
            what=f"{name}: longer by",
            unit=percent,
            measured=learned[name] / known[name] - 1 if name in learned and name in known else None,
            published=PUBLISHED.get(name),
        )
        for name in [*(names or PUBLISHED), "all jobs"]
    ]
