"""The page that sets policies side by side says what was reached, and what was not run."""

from pathlib import Path
from typing import Any

import pytest

from benchmarks.results.command import Command
from benchmarks.results.figures import Figure, Section
from benchmarks.results.page import page
from benchmarks.results.pages import PAGES
from benchmarks.results.scope import Scope
from benchmarks.results.sections.declared import declared
from benchmarks.results.sections.distance import distance
from benchmarks.results.sections.versus import versus
from benchmarks.results.settings import MISDECLARED, SETTINGS, Setting
from benchmarks.results.store import Record

SCOPE = Scope(data=Path("DATA"))
PLAIN, CROWDED = SETTINGS[0], SETTINGS[7]


def record(**answer: Any) -> Record:
    return Record(command="", answer=answer, cpu_s=1.0, peak_bytes=1)


def run(scale: float, restarts: int = 320) -> Record:
    names = ("avg_jct_s", "p99_jct_s", "makespan_s", "worst_rho", "p95_rho", "unfair_fraction")
    own = ("worst_rho_own", "unfair_fraction_own", "gpu_hours")
    return record(jobs=160, finished=160, restarts=restarts, **dict.fromkeys((*names, *own), scale))


def read(section: Section, answers: dict[Command, Record]) -> dict[str, Figure]:
    assert set(answers) <= set(section.commands)
    return {figure.what: figure for figure in section.figures(answers)}


def answers(setting: Setting, **scales: float) -> dict[Command, Record]:
    return {setting.run(policy): run(scale) for policy, scale in scales.items()}


def test_against_pollux_and_shockwave() -> None:
    found = read(versus(PLAIN), answers(PLAIN, headway=0.9, pollux=1.0, shockwave=2.0))
    assert found["average JCT, over pollux"].measured == pytest.approx(0.9)
    assert found["average JCT, over pollux"].verdict == "met"
    assert found["unfair jobs, over pollux"].verdict == "**not met**", "at most half"
    assert found["average JCT, over shockwave"].verdict == "met"
    assert found["p95 rho"].verdict == "met"
    assert found["restarts per job, more than pollux"].measured == 0.0


def test_the_same_is_not_lower() -> None:
    found = read(versus(PLAIN), answers(PLAIN, headway=1.0, pollux=1.0, shockwave=1.0))
    assert found["worst rho, over pollux"].verdict == "**not met**"
    assert found["makespan, over pollux"].verdict == "met"
    assert found["worst rho_own, over shockwave"].verdict == "met", "no higher"


def test_more_is_asked_under_contention() -> None:
    found = read(versus(CROWDED), answers(CROWDED, headway=0.9, pollux=1.0))
    assert found["average JCT, over pollux"].verdict == "**not met**", "at most 0.8"


def test_of_the_others_the_nearest_counts() -> None:
    found = read(versus(PLAIN), answers(PLAIN, headway=1.0, gavel=3.0, themis=2.0))
    figure = found["average JCT, over themis, the nearest of 2 others"]
    assert (figure.measured, figure.verdict) == (0.5, "met")


def test_what_no_policy_can_be_below_is_told() -> None:
    known = answers(PLAIN, headway=1.0, pollux=2.0)
    known[PLAIN.bound()] = record(p95_rho=3.5, worst_rho=1.0, unfair_fraction=0.5, avg_jct_s=0.4)
    section = versus(PLAIN)
    found = read(section, known)
    assert found["p95 rho"].cells[3] == "≤ 1.10 (no policy below 3.500)"
    assert found["worst rho, over pollux"].cells[3] == "≤ 1.000 (lower; no policy below 0.500)"
    assert found["average JCT, over pollux"].cells[3] == "≤ 1.000 (no policy below 0.200)"
    (table,) = section.tables(known)
    assert table.rows[0][:2] == ("headway", "1 s")
    assert table.rows[2][:2] == ("shockwave", "not measured")
    assert table.rows[-1][:3] == ("no policy below", "0 s", "")


def test_a_run_that_left_jobs_unfinished_counts_as_none() -> None:
    known = answers(PLAIN, headway=1.0, pollux=1.0)
    known[PLAIN.run("pollux")].answer["finished"] = 159
    assert read(versus(PLAIN), known)["average JCT, over pollux"].verdict == "not measured"


def test_distance() -> None:
    section = distance([PLAIN])
    known = answers(PLAIN, headway=600.0) | {PLAIN.bound(): record(avg_jct_s=400.0, alone_s=400.0)}
    figures = section.figures(known)
    assert [figure.measured for figure in figures] == [1.5]
    bounds, ratios = section.tables(known)
    assert bounds.rows[0][1:5] == ("400 s", "not measured", "not measured", "600 s")
    assert set(ratios.rows[0][1:]) == {"not measured"}
    _, ratios = section.tables(known | answers(PLAIN, pollux=1200.0))
    assert ratios.columns[1] == "average JCT / pollux"
    assert ratios.rows[0][1:3] == ("0.50", "not measured")


def test_wrong_declarations_are_held_against_the_run_without() -> None:
    setting = MISDECLARED[0]
    known = answers(setting, headway=1.0, pollux=0.5)
    wrong = setting.run("headway", "sim.declared_error=0.3")
    found = {f.what: f for f in declared().figures(known | {wrong: run(1.06)})}
    head = f"{setting.title}, σ = 0.3: "
    assert found[head + "average JCT over the run without errors"].verdict == "**not met**"
    assert found[head + "unfair jobs"].verdict == "**not met**", "pollux has fewer"
    missing = f"{setting.title}, σ = 0.7: unfair jobs"
    assert found[missing].verdict == "not measured"


def test_before_anything_has_run_every_section_says_so() -> None:
    for section in PAGES["headway"].sections(SCOPE):
        figures = section.figures({})
        assert {figure.verdict for figure in figures} == {"not measured"}, section.key
        text = page("# Head", [section], {}, {})
        assert "published" not in text.partition("| what")[2].partition("\n")[0]


def test_what_matters_most_is_run_first() -> None:
    wanted = PAGES["headway"]
    commands = [each for section in wanted.sections(SCOPE) for each in section.commands]
    ranked = sorted(commands, key=wanted.first)
    assert ranked[0] == PLAIN.bound()
    first = [each for each in ranked if "simulate" in each.words][:3]
    assert first == [PLAIN.run(policy) for policy in ("headway", "pollux", "shockwave")]
    assert "allox" in ranked[-1].text


def test_settings_have_names_of_their_own_and_a_way_to_be_made() -> None:
    assert len({setting.key for setting in SETTINGS}) == len(SETTINGS)
    made = [setting for setting in SETTINGS if setting.made_by]
    assert {setting.key for setting in made} == {
        *("shockwave-120", "shockwave-220", "half-rigid", "philly-day", "itp-day")
    }
    for setting in made:
        first, then = setting.run("fifo").parts
        assert first == setting.made_by
        assert then[:3] == ("headway", "simulate", f"MADE/{setting.key}.csv")
