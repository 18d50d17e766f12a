"""Commands run once, their failures are kept apart, and a run goes on where it stopped."""

from pathlib import Path

import pytest

from benchmarks.results.command import DATA, MADE, THEN, Command, simulation
from benchmarks.results.run import Failure, Place, run, run_missing
from benchmarks.results.store import Record, Store

ROOT = Path(__file__).parents[2]
WORKS = "import json, sys; print(json.dumps({'options': sys.argv[1:]}))"
COUNTS = "import pathlib; f = pathlib.Path('runs'); f.touch(); f.open('a').write('.'); print('{}')"
LINES = 'print(\'{"policy": "a", "x": 1}\'); print(\'{"policy": "b", "x": 2}\')'
MAKES = "import pathlib, sys; pathlib.Path(sys.argv[1]).write_text('made')"
PROSE = "print('no JSON')"
FAILS = "import sys; sys.exit(f'headway: no {sys.argv[1]}')"


@pytest.fixture
def place(tmp_path: Path) -> Place:
    folder = tmp_path / "benchmarks"
    folder.mkdir()
    for name, text in (
        ("works", WORKS),
        ("lines", LINES),
        ("prose", PROSE),
        ("counts", COUNTS),
        ("fails", FAILS),
    ):
        (folder / f"{name}.py").write_text(text)
    return Place(root=tmp_path, data=tmp_path / "data")


def python(name: str, *options: str) -> Command:
    return Command(("python", f"benchmarks/{name}.py", *options), (f"benchmarks/{name}.py",))


def test_the_data_takes_the_place_of_its_word(place: Place) -> None:
    outcome = run(python("works", f"{DATA}/x.csv", "--json"), place)
    assert isinstance(outcome, Record)
    assert outcome.answer == {"options": [f"{place.data}/x.csv", "--json"]}
    assert outcome.cpu_s > 0
    assert outcome.peak_bytes > 1_000_000


def test_an_answer_may_be_one_object_a_line(place: Place) -> None:
    outcome = run(python("lines"), place)
    assert isinstance(outcome, Record)
    assert outcome.named("policy")["b"] == {"policy": "b", "x": 2}
    assert outcome.number("policy") is None


def test_a_failure_tells_why_and_names_no_folder_of_this_machine(place: Place) -> None:
    assert run(python("fails", f"{DATA}/x.csv"), place) == Failure(f"no {DATA}/x.csv")
    assert run(python("absent"), place) == Failure("there is no benchmarks/absent.py")
    assert run(python("prose"), place) == Failure("it printed something that is not JSON")


def test_one_part_makes_what_the_next_reads(place: Place) -> None:
    (place.root / "benchmarks" / "makes.py").write_text(MAKES)
    makes, reads = python("makes", f"{MADE}/x"), python("lines", f"{MADE}/x")
    both = Command((*makes.words, THEN, *reads.words), ())
    assert both.parts == (makes.words, reads.words)
    outcome = run(both, place)
    assert isinstance(outcome, Record)
    assert outcome.command == both.text
    assert outcome.named("policy")["a"]["x"] == 1
    failed = Command((*python("fails", f"{MADE}/x").words, THEN, *reads.words), ())
    assert run(failed, place) == Failure(f"no {MADE}/x"), "and the next is not run"
    absent = Command((*makes.words, THEN, *python("absent").words), ())
    assert run(absent, place) == Failure("there is no benchmarks/absent.py")


def test_a_run_goes_on_where_it_stopped(place: Place) -> None:
    store, said = Store(place.root / "kept", place.root), list[str]()
    counts, fails = python("counts"), python("fails", "x")
    for _ in range(2):
        failed = run_missing([counts, fails, counts], store, place, processes=2, tell=said.append)
        assert failed == {fails: Failure("no x")}
    assert (place.root / "runs").read_text() == ".", "once in all"
    assert len(said) == 3


def test_what_is_timed_runs_last(place: Place) -> None:
    said = list[str]()
    timed = Command(("python", "benchmarks/works.py"), (), timed=True)
    commands = [timed, python("works", "a"), python("works", "b")]
    store = Store(place.root / "kept", place.root)
    assert run_missing(commands, store, place, processes=2, tell=said.append) == {}
    assert said[2].startswith(f"3/3 {timed.text}: ")


def test_a_simulation_keeps_its_figures_and_its_jobs(tmp_path: Path, shared_data: Path) -> None:
    few = (shared_data / "pollux/workloads/workload-6.csv").read_text().splitlines()[:4]
    (tmp_path / "workloads").mkdir()
    (tmp_path / "workloads/workload-6.csv").write_text("\n".join(few) + "\n")
    (tmp_path / "profiles").symlink_to(shared_data / "pollux/profiles")
    outcome = run(simulation("fifo", 6), Place(root=ROOT, data=tmp_path))
    assert isinstance(outcome, Record)
    assert outcome.number("finished") == 3
    assert outcome.number("avg_jct_s") == pytest.approx(sum(j.jct_s for j in outcome.jobs) / 3)
