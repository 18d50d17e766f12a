"""The pages that are measured: what each begins with, its sections, and what is run first."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks.results.command import Command
from benchmarks.results.figures import Section
from benchmarks.results.scope import Scope
from benchmarks.results.sections import SECTIONS
from benchmarks.results.sections.declared import declared
from benchmarks.results.sections.distance import distance
from benchmarks.results.sections.spread import spread
from benchmarks.results.sections.versus import versus
from benchmarks.results.settings import OURS, POLLUX, SEEDS, SETTINGS, SHOCKWAVE

POLLUX_HEAD = """# Pollux's published workloads

Every figure below was measured by the command beside it and every verdict computed from it;
nobody typed either. `make results DATA=FOLDER` measures again what the sources have changed and
rewrites this page.

`DATA` is the folder of profiles, workloads and results that was published with Pollux (OSDI'21):
petuum/adaptdl, branch osdi21-artifact. Unless a command says otherwise: 16 nodes of 4 GPUs,
rounds of 60 s, restarts of 30 s, averages over all jobs, percentiles by linear interpolation,
makespan from time 0 to the last completion. A published figure is that of the same workloads,
computed alike from the published completion times. {covered}
"""
HEADWAY_HEAD = """# Headway against the others

Every figure below was measured by the commands beside it and every verdict computed from it;
nobody typed either. `make results PAGE=headway DATA=FOLDER` measures again what the sources have
changed and rewrites this page. What was not run says so.

`DATA` is a folder with `pollux` (profiles and workloads, petuum/adaptdl, branch osdi21-artifact),
`shockwave` (traces and throughputs, uw-mad-dash/shockwave), `philly` (the table published with
Pollux) and `microsoft-itp` (microsoft/elasticflow-traces). `MADE` is any other folder. In each
setting all policies have the same jobs, cluster and truth: rounds of 60 s, restarts of 30 s,
averages over all jobs, percentiles by linear interpolation, makespan from time 0 to the last
completion. `rho` is JCT over that in the fluid egalitarian cluster, unfair above 1; `rho_own` is
JCT over the run alone at the requested size times the mean contention. Rigid policies hold every
job at the GPUs that it asks for. {covered}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One page of docs/results."""

    head: str
    sections: Callable[[Scope], Sequence[Section]]
    covered: Callable[[Scope], str]
    first: Callable[[Command], int] = lambda command: 0  # what is less is run earlier


def _headway(scope: Scope) -> Sequence[Section]:
    return [distance(), *(versus(each) for each in SETTINGS), spread(), declared()]


def _rank(command: Command) -> int:
    """Bounds, then the three that matter in every setting, then wrong declarations, then others."""
    if "simulate" not in command.words:
        return 0
    policy = command.words[command.words.index("--policy") + 1]
    if "--set" in command.words:
        return 2
    return 1 if policy in {OURS, POLLUX, SHOCKWAVE} else 3


def _seeds(seeds: Sequence[int]) -> str:
    if len(seeds) == 1:
        return f"Here: seed {seeds[0]} but where five seeds are named"
    return f"Here: means of {len(seeds)} seeds"


PAGES = {
    "pollux": Page(
        head=POLLUX_HEAD,
        sections=lambda scope: [make(scope) for make in SECTIONS],
        covered=lambda scope: f"Here: {scope.named}",
    ),
    "headway": Page(
        head=HEADWAY_HEAD, sections=_headway, covered=lambda scope: _seeds(SEEDS), first=_rank
    ),
}
