"""Sections read the answers of their commands as these give them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from benchmarks.autoscale import RULES
from benchmarks.results.command import Command
from benchmarks.results.figures import Figure, Section
from benchmarks.results.scope import Scope
from benchmarks.results.sections.costs import BY_SIZE, allocation, simulator, tables
from benchmarks.results.sections.exploration import exploration
from benchmarks.results.sections.hardware import hardware
from benchmarks.results.sections.models import model_error
from benchmarks.results.sections.realistic import realistic
from benchmarks.results.sections.realistic import run as realistic_run
from benchmarks.results.sections.scaling import AS_CHEAP, AS_FAST, autoscaling
from benchmarks.results.store import JobRow, Record

SCOPE = Scope(data=Path("DATA"), workloads=(6,), most_gpus=64)


def record(answer: Any, *jobs: JobRow) -> Record:
    return Record(command="", answer=answer, jobs=jobs, cpu_s=1.0, peak_bytes=1_000_000)


def read(section: Section, answers: Mapping[Command, Record]) -> Mapping[str, Figure]:
    assert set(answers) <= set(section.commands)
    return {figure.what: figure for figure in section.figures(answers)}


def test_allocation() -> None:
    section = allocation(SCOPE)
    answer = {"gpus": 64, "jobs": 21, "fitness_over_bound": 0.9995, "cpu_s": 0.05}
    figures = read(section, dict.fromkeys(section.commands, record(answer)))
    assert figures["64 GPUs, 4 a node: fitness over bound"].verdict == "met"
    assert figures["64 GPUs, 4 a node: a decision"].verdict == "**not met**"
    assert figures["64 GPUs, 8 a node: fitness over bound"].verdict == "shown"


def test_peak_memory_is_asked_of_the_largest_cluster_alone() -> None:
    section = allocation(Scope(data=Path("DATA")))
    figures = read(section, dict.fromkeys(section.commands, record({})))
    peaks = [figure for what, figure in figures.items() if "memory" in what]
    assert [figure.measured for figure in peaks] == [1e6, 1e6]


def test_goodput_tables() -> None:
    section = tables(SCOPE)
    (figure,) = read(section, {section.commands[0]: record({"cpu_s_per_job": 5e-5})}).values()
    assert figure.cells[1] == "0.05 ms"
    assert figure.verdict == "met"


def test_cost_of_the_simulator_by_size() -> None:
    """As ``benchmarks/simulate.py`` answers; the section once asked for what it does not say."""
    section = simulator(SCOPE)
    small, large = BY_SIZE.values()
    answers = dict.fromkeys(section.commands, record({"cpu_ms_per_job_round": 0.2}))
    figures = read(section, {**answers, large: record({"cpu_ms_per_job_round": 0.3})})
    assert figures["160 jobs, 8 hours, 64 GPUs under pollux"].verdict == "met"
    assert figures["5,000 jobs on 4,096 GPUs, a job and round"].cells[1] == "0.3 ms"
    assert figures["a job and round, largest size over smallest"].verdict == "**not met**"
    alone = read(section, {small: answers[small]})
    assert alone["a job and round, largest size over smallest"].verdict == "not measured"


def test_autoscaling() -> None:
    """As ``benchmarks/autoscale.py`` answers; the section once looked under other names."""
    bounds = {name: {"cheaper": 0.2, "longer": 0.1} for name in (AS_FAST, AS_CHEAP)}
    run = {"completion_s": 3600.0, "node_hours": 7.0, "cheaper": 0.3, "longer": 0.07}
    rules = ("pollux+throughput", "pollux+goodput", "pollux+cost", "an hour worth 8 node-hours")
    assert set(rules) <= set(RULES)
    section = autoscaling(SCOPE)
    profiles, catalogue = section.commands
    assert ("--profiles" in profiles.words, "--profiles" in catalogue.words) == (True, False)
    answer = record({"runs": dict.fromkeys(rules, run) | bounds})
    figures = read(section, dict.fromkeys(section.commands, answer))
    for rule in ("pollux+goodput", "pollux+cost", "catalogue, pollux+cost"):
        assert figures[f"{rule}: cheaper by"].verdict == "met"
        assert figures[f"{rule}: longer by"].verdict == "**not met**"
        assert figures[f"{rule}: cheaper by"].cells[3] == "≥ 25.0 % (clairvoyant: 20.0 %)"
        assert figures[f"{rule}: longer by"].cells[3] == "≤ 6.0 % (clairvoyant: 10.0 %)"
    assert figures["catalogue, pollux+goodput: cheaper by"].verdict == "shown"
    assert figures["catalogue, pollux+goodput: cheaper by"].published == 0.25
    assert figures["an hour worth 8 node-hours: longer by"].verdict == "shown"
    assert figures["pollux+cost: cost"].cells[1] == "7.0 node-h"
    alone = read(section, {profiles: answer})
    assert alone["catalogue, pollux+cost: cheaper by"].verdict == "not measured"


def test_model_error() -> None:
    row = {"linear_error": 0.08, "best_held_out_error": 0.084, "best": "tree"}
    apps = ("bert", "yolov3")
    answer = {"results": [{"app": app, "held_out": {"tree": 0.084}, **row} for app in apps]}
    section = model_error(SCOPE)
    answers = {section.commands[0]: record(answer)}
    figures = read(section, answers)
    assert figures["bert: linear model"].verdict == "**not met**", "at most 7.5 %"
    assert figures["yolov3: linear model"].verdict == "met"
    assert figures["yolov3: best model, held out"].verdict == "met"
    assert figures["ncf: linear model"].verdict == "not measured"
    (table,) = section.tables(answers)
    assert table.rows[0] == ("bert", "8.4 %", "tree")


def test_hardware() -> None:
    section = hardware(SCOPE)
    rows = [
        {"policy": "pollux, aware", "avg_jct_s": 90.0},
        {"policy": "pollux, blind", "avg_jct_s": 100.0},
    ]
    figures = read(section, {section.commands[0]: record(rows)})
    assert figures["types, aware / blind: average JCT"].measured == pytest.approx(0.9)
    assert figures["racks, aware / blind: average JCT"].verdict == "not measured"


def test_shorter_with_realistic_jobs() -> None:
    jct_s = {"pollux": 25.0, "optimus": 100.0, "tiresias": 50.0}
    answers = {
        realistic_run(policy, 6): record({"avg_jct_s": value}) for policy, value in jct_s.items()
    }
    figures = read(realistic(SCOPE), answers)
    assert figures["than optimus, mean"].measured == 0.75
    assert figures["than optimus, mean"].verdict == "met"
    assert figures["than tiresias, mean"].verdict == "**not met**"
    simulated = figures["than optimus, mean, against the authors' simulator"]
    assert simulated.published == pytest.approx(1 - 2446.1 / 6685.3)
    assert simulated.verdict == "met"


def test_what_exploring_costs_is_told_by_application() -> None:
    section = exploration(SCOPE)

    def jobs(short_s: float, long_s: float) -> tuple[JobRow, JobRow]:
        rows = {"cifar10-0": short_s, "imagenet-1": long_s}
        made = [
            JobRow(name=name, submitted_s=0.0, jct_s=jct_s, restarts=0, rho=1.0)
            for name, jct_s in rows.items()
        ]
        return made[0], made[1]

    learned, known = section.commands
    answers = {learned: record({}, *jobs(110, 900)), known: record({}, *jobs(100, 900))}
    figures = read(section, answers)
    assert list(figures) == ["cifar10: longer by", "imagenet: longer by", "all jobs: longer by"]
    assert [figure.measured for figure in figures.values()] == pytest.approx([0.1, 0.0, 0.01])
