"""``headway import``: what comes out can be simulated, and what went wrong is said."""

import json
import sys
from pathlib import Path

import pytest

from headway.cli.main import main
from headway.traces.catalogue import CATALOGUE
from headway.traces.sniff import read_workload

POLLUX = "name,time,application,num_replicas,batch_size\na,5,bert,6,384\nb,1.5,ncf,1,32768\n"
ITP = (
    "job_id,submission_time,duration,num_gpu\n"
    "before,3599,36000,4\na,3605,36000,4\nshort,3700,59,1\nidle,3700,99,0\nafter,7200,99,1\n"
)


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


def test_a_trace_without_models_is_given_some_and_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path, made = tmp_path / "jobs.csv", tmp_path / "made.csv"
    path.write_text(ITP)
    window = ("--from-h", 1, "--hours", 1, "--seed", 7)
    code, _, err = headway(monkeypatch, capsys, "import", "itp", path, "-o", made, *window)
    assert code == 0
    assert err.splitlines() == [
        "headway: note: 1 job dropped: num_gpu is 0",
        "headway: note: 1 job dropped: shorter than 60 s",
        "headway: note: models by GPU time, drawn with seed 7: 1 yolov3",
    ]
    (job,) = read_workload(made, CATALOGUE).jobs
    assert (job.name, job.submitted_s, job.requested_gpus) == ("a", 5.0, 4)
    code, _, err = headway(monkeypatch, capsys, "simulate", path)
    assert code == 2
    assert err == (
        f"headway: {path} is a trace without models; write headway import itp jobs.csv "
        "-o workload.csv to give each job one\n"
    )


def test_jobs_may_be_made_rigid_and_elastic(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    before, made = tmp_path / "jobs.csv", tmp_path / "made.csv"
    before.write_text(POLLUX + "c,7,bert,8,384\n")
    arguments = ("import", "pollux", before, "-o", made, "--elastic", "--rigid", "0.5")
    code, _, err = headway(monkeypatch, capsys, *arguments)
    assert code == 0
    assert "headway: note: 1 job dropped: shorter than 60 s\n" in err, "ncf takes half a minute"
    assert err.splitlines()[-1] == "headway: note: 1 of 2 jobs rigid, drawn with seed 0"
    jobs = read_workload(made, CATALOGUE).jobs
    assert [job.batch.mode.value for job in jobs].count("fixed") == 1


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("slurm", "jobs.csv", "-o", "o.csv"), 2, "slurm"),
        (("pollux", "jobs.csv"), 2, "-o"),
        (("pollux", "none.csv", "-o", "o.csv"), 2, "none.csv cannot be read"),
        (("headway", "jobs.csv", "-o", "o.csv"), 2, "column submitted_s is missing"),
        (("philly", "jobs.csv", "-o", "o.csv"), 2, "column timestamp is missing"),
        (("pollux", "jobs.csv", "-o", "o.csv", "--from-h", "-1"), 2, "--from-h must be an hour"),
        (("pollux", "jobs.csv", "-o", "o.csv", "--hours", "0"), 2, "--hours must be more than 0"),
        (("pollux", "jobs.csv", "-o", "o.csv", "--seed", "-1"), 2, "--seed must not be negative"),
        (("pollux", "jobs.csv", "-o", "o.csv", "--rigid", "2"), 2, "--rigid must be a share"),
        (("pollux", "jobs.csv", "-o", "o.csv", "--tenant", "x"), 2, "there are default"),
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


def test_a_trace_is_given_models_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "trace.csv").write_text(ITP)
    arguments = ("import", "itp", tmp_path / "trace.csv", "-o", tmp_path / "out.csv", "--elastic")
    code, _, err = headway(monkeypatch, capsys, *arguments)
    assert (code, err.count("models by GPU time")) == (0, 1)
