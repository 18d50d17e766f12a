"""``headway simulate --out``: what lies in the folder afterwards, and that it agrees."""

import csv
import json
from dataclasses import asdict
from pathlib import Path

import pytest
from click.testing import CliRunner

from headway.cli.keeping import alone_in, keep, write_whole
from headway.cli.simulate import simulate_command
from headway.core.errors import UnavailableError
from headway.core.metrics import per_job, summarise
from headway.protocol.eventlog import read
from headway.report import jobs_csv
from headway.sim.results import Result


def simulate(out: Path, *options: str) -> dict[str, object]:
    workload = "pollux-mix:jobs=4,hours=0.2"
    chosen = ["--policy", "fifo", "--policy", "las", "--seed", "5", "--out", str(out)]
    result = CliRunner().invoke(simulate_command, [workload, *chosen, *options, "--json"])
    assert result.exit_code == 0, result.output
    answer: dict[str, object] = json.loads(result.stdout)
    return answer


def test_logs_tables_and_report_tell_the_same_story(tmp_path: Path) -> None:
    answer = simulate(tmp_path / "out")
    assert (answer["workload"], answer["seed"]) == ("pollux-mix:jobs=4,hours=0.2", 5)
    results = answer["results"]
    assert isinstance(results, list)
    page = (tmp_path / "out" / "report.md").read_text()
    for printed in results:
        folder = tmp_path / "out" / printed["policy"]
        with (folder / "events.jsonl").open("rb") as log:
            events = list(read(log))
        expected = asdict(summarise(events))
        assert {name: printed[name] for name in expected} == expected
        assert (folder / "jobs.csv").read_text() == jobs_csv(per_job(events))
        rows = list(csv.DictReader((folder / "jobs.csv").read_text().splitlines()))
        assert [row["ended"] for row in rows] == ["finished"] * 4
        assert f"| {printed['policy']} |" in page


def test_a_seed_draws_the_workload_too(tmp_path: Path) -> None:
    logs = []
    for name, seed in (("a", "5"), ("b", "5"), ("c", "6")):
        simulate(tmp_path / name, "--seed", seed)
        logs.append((tmp_path / name / "las" / "events.jsonl").read_bytes())
    assert logs[0] == logs[1] != logs[2]


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "report.md").mkdir()
    results: list[Result] = []
    with pytest.raises(UnavailableError, match=r"report\.md cannot be written"):
        keep(tmp_path, {}, results)


def test_two_do_not_write_to_one_folder(tmp_path: Path) -> None:
    """Past bug: two runs wrote into one log, line by line, and both said that all was well."""
    out = tmp_path / "out"
    refused = pytest.raises(UnavailableError, match="another simulation writes there")
    with alone_in(out), refused, alone_in(out):
        pytest.fail("both are in")
    with alone_in(out):
        assert list(out.iterdir()) == []


def test_a_file_is_whole_or_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A report was left half written by a run that ran out of disk."""
    path = tmp_path / "report.md"
    write_whole(path, "before")
    whole = Path.write_text

    def half(self: Path, data: str, encoding: str | None = None) -> int:
        whole(self, data[: len(data) // 2], encoding=encoding)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", half)
    with pytest.raises(UnavailableError, match=r"report\.md cannot be written: No space left"):
        write_whole(path, "after" * 100)
    assert path.read_text() == "before"
