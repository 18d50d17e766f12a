"""Ratios over seeds: each within its seed, and none of fewer seeds than are named."""

from typing import Any

from benchmarks.results.command import Command
from benchmarks.results.sections.spread import SEEDS, spread
from benchmarks.results.settings import DRAWN, OURS, POLLUX
from benchmarks.results.store import Record

MIX = DRAWN[0]
WHAT = f"{MIX.title}: average JCT, over pollux"


def run(jct_s: float) -> Record:
    answer: dict[str, Any] = {"avg_jct_s": jct_s}
    return Record(command="", answer=answer, cpu_s=1.0, peak_bytes=1)


def told(skipped: int | None = None) -> dict[Command, Record]:
    """Ours takes half as long with even seeds, and three quarters with odd ones."""
    answers = {}
    for seed in SEEDS:
        if seed != skipped:
            answers[MIX.run(OURS, seed=seed)] = run(50.0 + 25.0 * (seed % 2))
            answers[MIX.run(POLLUX, seed=seed)] = run(100.0)
    return answers


def test_a_ratio_is_taken_within_a_seed_and_its_spread_is_told() -> None:
    section, answers = spread(), told()
    found = {figure.what: figure for figure in section.figures(answers)}
    assert found[WHAT].measured == 0.6
    row = section.tables(answers)[0].rows[0]
    assert row[1] == "0.600 ± 0.137"


def test_a_seed_that_was_not_run_leaves_nothing_to_tell() -> None:
    section, answers = spread(), told(skipped=3)
    found = {figure.what: figure for figure in section.figures(answers)}
    assert found[WHAT].measured is None
