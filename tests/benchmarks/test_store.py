"""What is kept is found again, unless a source of it has changed."""

from pathlib import Path

import pytest

from benchmarks.results.command import Command
from benchmarks.results.store import JobRow, Record, Store, digest


@pytest.fixture
def root(tmp_path: Path) -> Path:
    source = tmp_path / "src" / "part" / "a.py"
    source.parent.mkdir(parents=True)
    source.write_text("x = 1\n")
    return tmp_path


def record() -> Record:
    job = JobRow(name="a", submitted_s=1.0, jct_s=2.5, restarts=3, rho=1.25)
    return Record(command="x", answer={"b": 2.5, "c": "d"}, jobs=(job,), cpu_s=0.5, peak_bytes=10)


def test_what_is_kept_is_found_again(root: Path) -> None:
    store, command = Store(root / "kept", root), Command(("x",), ("src/part",))
    assert store.load(command) is None
    store.save(command, record())
    assert store.load(command) == record()
    assert store.load(Command(("x", "y"), ("src/part",))) is None, "another command"


@pytest.mark.parametrize("change", ["edited", "renamed", "added"])
def test_a_changed_source_makes_an_answer_unknown(root: Path, change: str) -> None:
    source, command = root / "src" / "part" / "a.py", Command(("x",), ("src/part",))
    Store(root / "kept", root).save(command, record())
    digest.cache_clear()
    if change == "edited":
        source.write_text("x = 2\n")
    elif change == "renamed":
        source.rename(source.with_name("b.py"))
    else:
        source.with_name("b.py").write_text("")
    assert Store(root / "kept", root).load(command) is None


def test_a_figure_that_an_answer_lacks_is_no_number() -> None:
    assert record().number("b") == 2.5
    assert record().number("c") is None
    assert record().number("nothing") is None
    assert record().number("b", "deeper") is None
    assert record().named("policy") == {}
