"""``headway import``: what comes out can be simulated, and what went wrong is said."""

import json
import sys
from pathlib import Path

import pytest

from headway.cli.main import main
from headway.traces.catalogue import CATALOGUE
from headway.traces.sniff import read_workload

POLLUX = "name,time,application,num_replicas,batch_size\na,5,bert,6,384\nb,1.5,ncf,1,32768\n"


def headway(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: object
) -> tuple[int, str, str]:
    monkeypatch.setattr(sys, "argv", ["headway", *map(str, arguments)])
    try:
        main()
        code = 0
    except SystemExit as stop:
        code = int(stop.code or 0)
    return (code, *capsys.readouterr())


def test_a_published_table_becomes_ours_and_means_the_same(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    before, after = tmp_path / "jobs.csv", tmp_path / "ours" / "jobs.csv"
    after.parent.mkdir()
    before.write_text(POLLUX)
    code, out, err = headway(monkeypatch, capsys, "import", "pollux", before, "-o", after)
    assert (code, err) == (0, "")
    assert out == f"2 jobs written to {after}\n"
    assert read_workload(after, CATALOGUE, "headway") == read_workload(before, CATALOGUE, "pollux")


def test_columns_that_are_not_kept_are_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text("name,time,application,num_replicas,batch_size,user\na,5,ncf,4,32768,me\n")
    arguments = ("import", "pollux", path, "-o", tmp_path / "o.csv")
    code, _, err = headway(monkeypatch, capsys, *arguments)
    assert code == 0
    assert err.splitlines() == [
        "headway: note: column user is not used",
        "headway: note: a: num_replicas 4 is more than ncf may hold; 1 is taken",
    ]
    code, out, err = headway(monkeypatch, capsys, *arguments, "--json")
    assert (json.loads(out)["jobs"], len(json.loads(out)["notes"]), err) == (1, 2, "")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("slurm", "jobs.csv", "-o", "o.csv"), 2, "slurm"),
        (("pollux", "jobs.csv"), 2, "-o"),
        (("pollux", "none.csv", "-o", "o.csv"), 2, "none.csv cannot be read"),
        (("headway", "jobs.csv", "-o", "o.csv"), 2, "column submitted_s is missing"),
        (("pollux", "jobs.csv", "-o", "no/such/folder.csv"), 1, "cannot be written"),
    ],
)
def test_mistakes_are_one_line(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    arguments: tuple[str, ...],
    code: int,
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("jobs.csv").write_text(POLLUX)
    found, out, err = headway(monkeypatch, capsys, "import", *arguments)
    assert (found, out) == (code, "")
    assert said in err
    assert err.count("\n") == 1
