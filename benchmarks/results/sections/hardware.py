"""What it is worth to know types of GPUs, or racks: a policy that does beside one that is blind."""

from collections.abc import Sequence

from benchmarks.results.command import DATA, SIMULATOR, Command
from benchmarks.results.figures import (
    Figure,
    Results,
    Section,
    Unit,
    at_most,
    quotient,
    ratio,
    seconds,
)
from benchmarks.results.scope import Scope

SCRIPT = "benchmarks/hardware.py"
CLUSTERS = {"types": "benchmarks/clusters/mixed.yaml", "racks": "benchmarks/clusters/racks.yaml"}
MEASURES: dict[str, tuple[str, Unit]] = {
    "avg_jct_s": ("average JCT", seconds),
    "makespan_s": ("makespan", seconds),
    "mean_rho": ("mean rho", ratio),
}
ABOUT = """
Workload 6 on 64 GPUs of three types, and on 16 nodes in 4 racks between which synchronisation takes
twice as long. Blind to types, a policy takes all GPUs for equally fast; blind to racks, nobody is
told where nodes stand. The truth is the same. Beyond the paper, so nothing is published.
"""


def hardware(scope: Scope) -> Section:
    """Knowing is not worse than being blind."""
    return Section(
        key="hardware",
        title="Types of GPUs and racks",
        about=ABOUT,
        commands=tuple(run(blind) for blind in CLUSTERS),
        figures=lambda results: [
            figure for blind in CLUSTERS for figure in _figures(results, blind)
        ],
    )


def run(blind: str) -> Command:
    """Two runs: one that knows, one that is blind."""
    cluster = CLUSTERS[blind]
    # measured profiles know no node of eight GPUs, as the mixed cluster has; the catalogue does
    profiles = ("--profiles", f"{DATA}/profiles") if blind == "racks" else ()
    words = [
        *("python", SCRIPT, f"{DATA}/workloads/workload-6.csv", *profiles),
        *("--cluster", cluster, "--blind", blind),
    ]
    return Command(tuple(words), (*SIMULATOR, SCRIPT, cluster))


def _figures(results: Results, blind: str) -> Sequence[Figure]:
    record = results.get(run(blind))
    rows = {} if record is None else record.named("policy")
    found = {who: rows.get(f"pollux, {who}", {}) for who in ("aware", "blind")}
    shown = [
        Figure(what=f"{blind}, {who}: {what}", unit=unit, measured=found[who].get(name))
        for name, (what, unit) in MEASURES.items()
        for who in found
    ]
    worth = Figure(
        what=f"{blind}, aware / blind: average JCT",
        unit=ratio,
        measured=quotient(*(found[who].get("avg_jct_s") for who in found)),
        reach=at_most(1.0),
    )
    return [*shown, worth]
