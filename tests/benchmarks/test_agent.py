"""The sections of the agent's page read the answers of their commands as these give them."""

import ast
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.agent.commands import (
    ACCOUNTING,
    KILLS,
    LAW,
    RESIZE,
    UNTOUCHED,
    counted,
    overhead,
    training,
)
from benchmarks.agent.costs import costs, counts, law, resize
from benchmarks.agent.misleading import misleading
from benchmarks.agent.quality import noise, quality
from benchmarks.quality import TASKS, epoch_means, examples_to_target
from benchmarks.results.command import Command
from benchmarks.results.figures import Figure, Section
from benchmarks.results.store import Record
from headway.core.types import JobReport
from headway.testing import stores

ROOT = Path(__file__).parents[2]


def read(section: Section, answers: dict[Command, Any]) -> dict[str, Figure]:
    assert set(answers) <= set(section.commands)
    results = {
        command: Record(command="", answer=answer, cpu_s=1.0, peak_bytes=1)
        for command, answer in answers.items()
    }
    for table in section.tables(results):
        assert all(len(row) == len(table.columns) for row in table.rows)
    return {figure.what: figure for figure in section.figures(results)}


def a_training(metric: float, needed: int | None = None, phi: float | None = None) -> Any:
    return {
        "metric": metric,
        "workers": [1, 3],
        "batch_sizes": [32, 64],
        "examples_to_target": needed,
        "noise_scale": phi,
    }


def test_quality_is_of_the_seeds_that_were_run_both_ways() -> None:
    answers = {
        training("digits-cnn", "fixed", 0): a_training(0.99),
        training("digits-cnn", "fixed", 1): a_training(0.97),
        training("digits-cnn", "fixed", 2): a_training(0.50),
        training("digits-cnn", "elastic", 0): a_training(0.98),
        training("digits-cnn", "elastic", 1): a_training(0.96),
        training("digits-cnn", "linear", 0): a_training(0.10),
        training("charlm", "fixed"): a_training(1.7),
        training("charlm", "elastic"): a_training(1.8),
    }
    figures = read(quality(), answers)
    elastic = "1 to 4 workers, batch up to 32 M0, behind the fixed run, mean of 2 seeds"
    assert figures[f"digits-cnn: {elastic}"].measured == pytest.approx(0.01)
    assert figures[f"digits-cnn: {elastic}"].verdict == "met"
    linear = figures["digits-cnn: linear scaling at 32 M0, behind the fixed run, seed 0"]
    assert linear.measured == pytest.approx(0.89)
    assert linear.verdict == "met"
    text = "charlm: 1 to 4 workers, batch up to 4 M0, behind the fixed run, seed 0"
    assert figures[text].measured == pytest.approx(0.1)
    assert figures[text].verdict == "**not met**"
    assert sum(figure.verdict == "not measured" for figure in figures.values()) > 0


@pytest.mark.parametrize("make", [quality, noise, misleading, law, costs, counts, resize])
def test_a_benchmark_that_needs_others_is_run_as_a_module(make: Callable[[], Section]) -> None:
    """As a file it does not find them, and the noise scale was never counted out."""
    for command in make().commands:
        if command.words[1] != "-m":
            tree = ast.parse((ROOT / command.words[1]).read_text())
            found = [one.module or "" for one in ast.walk(tree) if isinstance(one, ast.ImportFrom)]
            assert not [name for name in found if name.startswith("benchmarks")], command.text


def test_the_implied_noise_scale_is_that_of_the_law() -> None:
    sizes = {0: 32, 4: 128, 16: 512, 32: 1024}
    answers = {
        training("digits-mlp", "large", 0, growth if growth < 32 else 0): a_training(
            0.97, needed=10 * (150 + sizes[growth])
        )
        for growth in (4, 16, 32)
    }
    answers[training("digits-mlp", "fixed")] = a_training(0.98, needed=1820, phi=600.0)
    figures = read(noise(), answers)
    assert figures["digits-mlp: φ implied"].measured == pytest.approx(150)
    assert figures["digits-mlp: apart"].measured == pytest.approx(4.0)
    assert figures["digits-mlp: apart"].verdict == "**not met**"
    assert figures["digits-cnn: apart"].verdict == "not measured"


def test_the_implied_noise_scale_is_of_the_mean_of_seeds() -> None:
    """One seed at M0 took twice as long as the others: its law said 4 times the noise scale."""
    sizes = {4: 128, 16: 512, 32: 1024}
    answers = {
        training("digits-mlp", "large", seed, growth if growth < 32 else 0): a_training(
            0.97, needed=10 * (150 + size) + off
        )
        for growth, size in sizes.items()
        for seed, off in ((0, 500), (1, -500), (2, 0))
    }
    for seed, off in ((0, 900), (1, -900), (2, 0)):
        run = a_training(0.98, needed=1820 + off, phi=100.0 + off)
        answers[training("digits-mlp", "fixed", seed)] = run
        answers[counted("digits-mlp", seed)] = {"counted": 120.0 + off}
    figures = read(noise(), answers)
    assert figures["digits-mlp: φ implied"].measured == pytest.approx(150)
    assert figures["digits-mlp: φ counted out, mean of 3 seeds"].measured == pytest.approx(120)
    assert figures["digits-mlp: φ measured, mean of 3 seeds"].measured == pytest.approx(100)
    assert figures["digits-mlp: apart"].verdict == "met"


def test_a_cap_must_hold_what_the_noise_scale_would_lose() -> None:
    def run(metric: float, phi: float = 9.0) -> Any:
        return a_training(metric) | {"largest_noise_scale": phi, "falls": 0}

    answers = {}
    for seed in (0, 1, 2):
        answers[training("ml-100k", "fixed", seed)] = run(0.94)
        answers[training("ml-100k", "elastic", seed, 4)] = run(0.945)
        answers[training("ml-100k", "elastic", seed, 64)] = run(0.99, phi=5e4)
    figures = read(misleading(), answers)
    capped = figures["elastic, up to 4 M0: error above that, mean of 3 seeds"]
    assert capped.measured == pytest.approx(0.005)
    assert capped.verdict == "met"
    followed = figures["elastic, up to 64 M0: error above that, mean of 3 seeds"]
    assert followed.measured == pytest.approx(0.05)
    assert followed.verdict == "met"
    assert figures["64 M0 from the start: error above that"].verdict == "not measured"
    said = "elastic, up to 64 M0: largest φ that is reported, mean of 3 seeds"
    assert figures[said].measured == pytest.approx(5e4)


def test_the_noise_scale_of_an_epoch_does_not_depend_on_how_often_it_was_reported() -> None:
    def report(epoch: int, phi: float | None) -> JobReport:
        return replace(stores.report(), noise_scale=phi, epoch=epoch)

    told = [report(0, None), report(1, 10.0), report(1, 20.0), report(2, 40.0)]
    assert epoch_means(told) == [15.0, 40.0]
    assert epoch_means([*told, *[report(2, 40.0)] * 50]) == [15.0, 40.0]


def test_a_target_is_reached_where_the_metric_stays_above_it() -> None:
    """The luckiest of the epochs near the ceiling decided how many examples a training needed."""
    task = TASKS["digits-mlp"]
    rising = dict(enumerate([0.50, 0.90, 0.966, 0.94, 0.95, 0.97, 0.96, 0.97, 0.975]))
    assert examples_to_target(task, rising) == 6 * task.samples
    assert examples_to_target(task, dict(enumerate([0.5, 0.97, 0.9, 0.9, 0.96]))) is None
    assert examples_to_target(task, {}) is None
    exactly = dict(enumerate([0.5, 0.965, 0.965]))
    assert examples_to_target(task, exactly) == 2 * task.samples
    falls = TASKS["charlm"]
    nats = dict(enumerate([2.4, 1.9, 1.74, 1.76, 1.72]))
    assert examples_to_target(falls, nats) == 3 * falls.samples  # 1.74 and 1.76 are one level


def test_a_large_batch_is_a_mean_of_its_seeds_that_shows_their_spread() -> None:
    """It was one run, of a seed that came out anywhere between 96 and 99 %."""
    metrics = {0: 0.96, 1: 0.98, 2: 0.991}
    runs = {training("digits-cnn", "large", seed): a_training(m) for seed, m in metrics.items()}
    figures = read(quality(), runs)
    said = "digits-cnn at 1,024 from 32 by AdaScale: accuracy, mean of 3 seeds, 96.0 % to 99.1 %"
    assert figures[said].measured == pytest.approx(0.977)
    assert figures[said].verdict == "met"
    alone = read(quality(), {training("digits-cnn", "large", 1): a_training(0.96)})
    said = "digits-cnn at 1,024 from 32 by AdaScale: accuracy, seed 1"
    assert alone[said].verdict == "**not met**"


def test_only_gpt3_may_have_an_outlier() -> None:
    def row(name: str, error: float, *odd: int) -> dict[str, Any]:
        shape = {"batch_sizes": 5, "max_error": error, "noise_scale": 9.0}
        return {"benchmark": name, "mean_error": error, "outliers": list(odd), **shape}

    rows = [row("bert", 0.05), row("dlrm", 0.08, 64), row("gpt3", 0.14, 3072)]
    figures = read(law(), {LAW: {"results": rows}})
    assert figures["bert: mean error"].verdict == "met"
    assert figures["dlrm: mean error"].verdict == "**not met**"
    assert figures["gpt3: outliers flagged"].verdict == "met"
    assert figures["outliers flagged elsewhere"].verdict == "**not met**"


def test_costs_counts_and_stalls() -> None:
    names = ("step_ms", "error", "nothing", "overhead_best", "overhead_first_steps")
    both = {mode: dict.fromkeys(names, 0.1) | {"overhead": 0.015} for mode in ("fixed", "adaptive")}
    answer = {"tasks": {"charlm": both}, "load_before": 1.0, "load_after": 2.0}
    assert read(costs(), {overhead("charlm"): answer})["charlm, fixed"].verdict == "met"
    bits = {ACCOUNTING: {"once": 999}, UNTOUCHED: {"passed": 4, "failed": 1}}
    figures = read(counts(), {**bits, KILLS: {"right": 200, "wrong": 1}})
    assert [figure.verdict for figure in figures.values()] == [
        *("**not met**", "met", "**not met**"),
        *("not measured", "met", "**not met**"),
    ]
    one = {"way": "warm fork", "old": 1, "new": 4, "stall_s": 0.8}
    figures = read(resize(), {RESIZE: {"resizes": [one, {**one, "stall_s": 1.0}]}})
    assert figures["warm fork: 1 to 4 workers, median stall"].measured == pytest.approx(0.9)
    assert {figure.verdict for figure in read(resize(), {}).values()} == {"not measured"}
