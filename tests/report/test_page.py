"""The page of a comparison: well-formed, alone in the world, and true to what was measured."""

import re
from html.parser import HTMLParser

import pytest

from headway.core.control.events import Event
from headway.core.ids import JobId
from headway.core.metrics import JobOutcome, per_job, summarise
from headway.core.policy import make
from headway.report.course import Course
from headway.report.figures import POINTS, jct_chart, rho_chart
from headway.report.page import Fared, how_shown, page
from headway.report.svg import Line
from headway.sim.cluster import parse_cluster
from headway.sim.driver import Setup
from headway.sim.generate import generate
from headway.sim.results import Contender, run_all
from headway.traces.catalogue import CATALOGUE

VOID = {"meta", "path"}


class Checker(HTMLParser):
    """Every element that is opened is closed, in order; remembers what it saw."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.ids: list[str] = []
        self.named: set[str] = set()
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            if name == "aria-labelledby":
                self.named |= set((value or "").split())
            if name in ("src", "href", "xlink:href", "action"):
                self.links.append(value or "")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def fared(policies: tuple[str, ...]) -> list[Fared]:
    logs: dict[str, list[Event]] = {policy: [] for policy in policies}
    setup = Setup(
        workload=generate("pollux-mix:jobs=6,hours=0.5", CATALOGUE, 3), cluster=parse_cluster("4x4")
    )
    contenders = [Contender(name=name, policy=make(name, {}), settings={}) for name in policies]
    run_all(setup, contenders, watch=lambda policy, event: logs[policy].append(event))
    return [
        Fared(
            policy=policy,
            summaries=(summarise(log),),
            jobs=per_job(log),
            course=Course.of(log),
        )
        for policy, log in logs.items()
    ]


@pytest.fixture(scope="module")
def two() -> list[Fared]:
    return fared(("pollux", "fifo"))


def test_the_page_is_well_formed_and_needs_nothing_else(two: list[Fared]) -> None:
    text = page({"workload": "<b>&"}, two, ["a < b"])
    checker = Checker()
    checker.feed(text)
    checker.close()
    assert checker.open == []
    assert checker.links == []
    assert "script" not in checker.seen
    assert not re.search(r"https?:|url\(|@import|//", text)
    assert len(checker.ids) == len(set(checker.ids))
    assert checker.named == set(checker.ids)
    assert checker.seen.count("desc") == 1 + 1 + 2 + 2 * 4
    assert "&lt;b&gt;&amp;" in text
    assert "a &lt; b" in text
    assert "prefers-color-scheme: dark" in text


def test_equal_runs_make_equal_pages(two: list[Fared]) -> None:
    assert page({}, two) == page({}, fared(("pollux", "fifo")))


def test_what_a_table_says_about_itself() -> None:
    assert how_shown(1, 1).startswith("One seed: no spread. Rho")
    assert how_shown(2, 2).startswith("Least–most of 2 seeds. The best mean of each row is marked.")
    assert how_shown(3, 1).startswith("Mean ± standard error over 3 seeds. Rho and unfair are")
    assert "fluid egalitarian cluster" in how_shown(3, 2)


def outcome(jct_s: float | None, rho: float | None = None) -> JobOutcome:
    return JobOutcome(
        job_id=JobId("a"), name="a", tenant="default", submitted_s=0, started_s=0,
        finished_s=jct_s, jct_s=jct_s, queueing_s=0, gpu_hours=0, provisioned_gpu_hours=0,
        entitled_gpu_hours=0,
        restarts=0, max_gpus=1, rho=rho, rho_own=None, rho_jobs=None, rho_static=None, ended=None,
    )  # fmt: skip


def lines(outcomes: list[JobOutcome]) -> list[Line]:
    return list(jct_chart({"a": outcomes}).charts[0].lines)


def test_a_distribution_counts_the_jobs_that_never_finished() -> None:
    points = lines([outcome(300), outcome(100), outcome(None), outcome(None)])[0].points
    assert points[0] == (100, 0)
    assert (100, 25) in points
    assert points[-2] == (300, 50)
    assert points[-1] == (points[-1][0], 50)


def test_a_long_distribution_is_thinned_and_keeps_its_ends() -> None:
    points = lines([outcome(float(seconds)) for seconds in range(1, 5001)])[0].points
    assert len(points) <= 2 * POINTS + 2
    assert points[0][0] == 1
    assert (5000, 100) in points


def test_nothing_finished_is_an_empty_chart_not_a_failure() -> None:
    assert lines([outcome(None)])[0].points == []
    assert jct_chart({"a": [outcome(None)]}).charts[0].svg("x").startswith("<svg")


def test_rho_has_a_line_at_one() -> None:
    mark, drawn = rho_chart({"a": [outcome(10, 2.0), outcome(10, 0.5)]}).charts[0].lines
    assert [x for x, _ in mark.points] == [1, 1]
    assert next(point for point in drawn.points if point[1] == 50) == (0.5, 50)
