"""The page is made of what was measured, and says what was not."""

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.results.command import Command
from benchmarks.results.figures import Figure, Section, at_most, ratio
from benchmarks.results.page import anchor, braced, page
from benchmarks.results.run import Failure
from benchmarks.results.scope import Scope
from benchmarks.results.sections import SECTIONS
from benchmarks.results.store import Record

RUN, LOST = Command(("run", "a"), ()), Command(("run", "b"), ())


def section() -> Section:
    return Section(
        key="some",
        title="Some figures, 0.5 to 2",
        about="About.",
        commands=(RUN, LOST),
        figures=lambda results: [
            Figure(
                what=command.text,
                unit=ratio,
                measured=results[command].number("x") if command in results else None,
                reach=at_most(1.0),
            )
            for command in (RUN, LOST)
        ],
    )


def test_a_page() -> None:
    record = Record(command="run a", answer={"x": 1.5}, cpu_s=0.1, peak_bytes=1)
    text = page("# Head", [section()], {RUN: record}, {LOST: Failure("no b")})
    assert "| [Some figures, 0.5 to 2](#some-figures-05-to-2) |  | 1 |  | 1 |" in text
    assert "| run a | 1.50 | ≤ 1.00 | **not met** |" in text
    assert "| run b |  | ≤ 1.00 | not measured |" in text
    assert "```text\nrun {a,b}\n```" in text
    assert "Not measured: `run b`: no b" in text


def test_the_column_of_published_figures_is_there_where_one_is() -> None:
    told = Figure(what="x", unit=ratio, measured=1.5, published=2.0)
    some = replace(section(), figures=lambda results: [told])
    assert "| x | 1.50 | 2.00 |  | shown |" in page("# Head", [some], {}, {})


@pytest.mark.parametrize(
    ("commands", "lines"),
    [
        (["f d/w-1.csv", "f d/w-2.csv"], ["f d/w-{1,2}.csv"]),
        (
            [f"f d-{load}/w-{each}.csv" for load in (0.5, 1.5) for each in (1, 2)],
            ["f d-{0.5,1.5}/w-{1,2}.csv"],
        ),
        (["f --p optimus", "f --p tiresias"], ["f --p {optimus,tiresias}"]),
        (["f --s x.p=0.25", "f --s x.p=0.5"], ["f --s x.p={0.25,0.5}"]),
        (["f 1", "f 1 --s x"], ["f 1", "f 1 --s x"]),
        (["f 1 2", "f 3 4"], ["f 1 2", "f 3 4"]),
        (["f", "f"], ["f"]),
        ([], []),
    ],
)
def test_commands_that_differ_in_one_part_share_a_line(
    commands: list[str], lines: list[str]
) -> None:
    assert braced(commands) == lines


def test_before_anything_has_run_every_section_says_so(shared_data: Path) -> None:
    scope = Scope(data=shared_data / "pollux")
    for make in SECTIONS:
        each = make(scope)
        figures = each.figures({})
        assert figures, each.key
        assert {figure.verdict for figure in figures} == {"not measured"}, each.key
        assert f"## {each.title}\n" in page("# Head", [each], {}, {})


def test_anchors_are_those_of_the_headings() -> None:
    assert anchor("Pollux at load 0.5 to 2") == "pollux-at-load-05-to-2"
    assert anchor("What exploring costs") == "what-exploring-costs"
