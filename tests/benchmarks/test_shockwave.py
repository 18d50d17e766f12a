"""Sections of Shockwave's page read the answers of their commands as these give them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.drawn import ARRIVAL, FIGURES, MODE, Asked, Misled, measured, rows, workload
from benchmarks.fidelity import Physical, as_long
from benchmarks.results.command import Command
from benchmarks.results.figures import Figure, Section
from benchmarks.results.store import JobRow, Record
from benchmarks.shockwave.commands import T32, T256
from benchmarks.shockwave.sections import SECTIONS
from benchmarks.shockwave.sections.physical import FORM, POLICIES, physical
from benchmarks.shockwave.sections.seeds import seeds
from benchmarks.shockwave.sections.sizes import RUNS, sizes
from benchmarks.shockwave.sections.sweeps import noise
from headway.core.policy import make
from headway.sim.cluster import parse_cluster
from headway.sim.egalitarian import references
from headway.traces.sniff import read_profiles, read_workload

NOWHERE = Path("nowhere")


def record(answer: Any, *jobs: JobRow) -> Record:
    return Record(command="", answer=answer, jobs=jobs, cpu_s=1.0, peak_bytes=1_000_000)


def read(section: Section, answers: Mapping[Command, Record]) -> Mapping[str, Figure]:
    assert set(answers) <= set(section.commands)
    return {figure.what: figure for figure in section.figures(answers)}


@pytest.mark.parametrize("make_section", SECTIONS, ids=lambda one: one.__name__)
def test_a_section_without_answers_says_so(make_section: Any, shared_data: Path) -> None:
    section = make_section(shared_data / "shockwave")
    assert section.commands
    assert {figure.verdict for figure in section.figures({})} <= {"not measured"}
    for table in section.tables({}):
        assert all(not any(row[1:]) for row in table.rows)


def test_sizes() -> None:
    answer = {
        "makespan_s": 26_060.0,
        "avg_jct_s": 9_000.0,
        "worst_rho_static": 1.2,
        "unfair_fraction_static": 0.02,
        "cpu_s": 6.0,
    }
    figures = read(sizes(NOWHERE), {RUNS[T256]: record(answer), RUNS[T32]: record(answer)})
    assert figures["256 GPUs: makespan"].verdict == "**not met**"
    assert figures["256 GPUs: average JCT"].verdict == "met"
    assert figures["256 GPUs: the whole simulation"].verdict == "met"
    assert figures["32 GPUs: the whole simulation"].verdict == "**not met**"
    assert figures["64 GPUs: makespan"].verdict == "not measured"


def test_noise_is_measured_against_the_right_forecast() -> None:
    section = noise(NOWHERE)
    right, wrong = section.commands
    drawn = {"shockwave": {name: [1.0, 2.0] for name in FIGURES}}
    figures = read(section, {right: record(dict.fromkeys(FIGURES, 1.0)), wrong: record(drawn)})
    assert {figure.measured for figure in figures.values()} == {1.5}
    assert figures["worst rho_static, wrong over right"].verdict == "met"
    assert figures["makespan, wrong over right"].verdict == "**not met**"


def test_seeds_are_shown_with_their_spread() -> None:
    section = seeds(NOWHERE)
    drawn = {"shockwave": {name: [0.1, 0.3] for name in FIGURES}}
    (table,) = section.tables({section.commands[0]: record(drawn)})
    assert table.rows[0][-1] == "20.0 % ± 14.1 %"


def test_fidelity_is_judged_in_both_directions() -> None:
    run = {"avg_jct_s": 100.0, "makespan_s": 1_000.0}
    run |= {FORM: {"avg_jct_s": 94.0, "makespan_s": 1_049.0}}
    section = physical(NOWHERE)
    answer = record(dict.fromkeys(POLICIES, run))
    figures = read(section, dict.fromkeys(section.commands, answer))
    assert figures["gavel: average JCT"].verdict == "**not met**"
    assert figures["gavel: makespan"].verdict == "met"


@pytest.fixture
def asked(shared_data: Path) -> Asked:
    return Asked(
        data=shared_data / "shockwave",
        trace="120jobs",
        table="tacc",
        as_it_is=True,
        jobs=20,
        gap_s=40.0,
        dynamic=0.4,
    )


def test_of_a_trace_as_it_is_only_the_share_of_dynamic_jobs_changes(asked: Asked) -> None:
    lines = [line.split("\t") for line in rows(asked, 1)]
    still = [line[MODE] == "static" for line in lines]
    assert len(lines) == 120
    assert sum(still) >= 72  # and those that were static before
    again = [line.split("\t") for line in rows(asked, 2)]
    assert [line[:MODE] for line in lines] == [line[:MODE] for line in again]
    assert [line[MODE] for line in lines] != [line[MODE] for line in again]


def test_drawn_jobs_come_in_order_and_another_seed_draws_others(asked: Asked) -> None:
    drawn = Asked(
        data=asked.data,
        trace=asked.trace,
        table=asked.table,
        as_it_is=False,
        jobs=20,
        gap_s=40.0,
        dynamic=1.0,
    )
    one, two = (list(rows(drawn, seed)) for seed in (1, 2))
    arrivals = [float(line.split("\t")[ARRIVAL]) for line in one]
    assert len(one) == 20
    assert arrivals == sorted(arrivals)
    assert one == list(rows(drawn, 1))
    assert one != two


def test_a_forecast_without_noise_changes_nothing_and_one_with_noise_does(asked: Asked) -> None:
    few = Asked(
        data=asked.data,
        trace=asked.trace,
        table=asked.table,
        as_it_is=False,
        jobs=12,
        gap_s=40.0,
        dynamic=1.0,
    )
    jobs = workload(few, 1, 4)
    right = measured(jobs, 4, make("shockwave", {}))
    assert measured(jobs, 4, Misled(make("shockwave", {}), 0.0, 1)) == right
    assert measured(jobs, 4, Misled(make("shockwave", {}), 1.0, 1)) != right


def test_jobs_take_as_long_as_they_were_recorded_to(shared_data: Path) -> None:
    data = shared_data / "shockwave"
    jobs = read_workload(
        data / "traces" / "120jobs.trace.gz", read_profiles(data / "tacc_throughputs.json.gz")
    )
    submitted_s = np.array([job.submitted_s for job in jobs.jobs])
    path = data / "results" / "tacc_32gpus_comparison__max_sum_throughput_perf__physical.json.gz"
    run = Physical.of(path, submitted_s)
    assert 119.0 < run.round_s < 123.0
    alone_s = {
        one.job_id: one.exclusive_s for one in references(as_long(jobs, run), parse_cluster("32x1"))
    }
    for number, job in enumerate(jobs.jobs):
        held_s = run.gpu_s[str(number)] / job.requested_gpus
        assert held_s - 400.0 < alone_s[job.job_id] < held_s  # restarts of 20 s apart
