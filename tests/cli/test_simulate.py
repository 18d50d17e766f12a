"""``headway simulate``: the contract that scripts rely on, and one clear line for every mistake."""

import json
import sys
from pathlib import Path

import pytest

from headway.cli.main import main

READINGS = ("", "_own", "_jobs", "_static")
FIGURES = ("worst_rho", "mean_rho", "p95_rho", "unfair_fraction")
KEYS = {
    "policy", "jobs", "finished", "avg_jct_s", "p50_jct_s", "p99_jct_s", "makespan_s",
    "avg_queueing_s", "utilisation", "restarts", "gpu_hours", "decide_s_mean", "decide_s_max",
    "node_hours", "provisioned_gpu_hours", "gap_max", "cpu_s", "wall_s", "tenants",
    *(figure + reading for figure in FIGURES for reading in READINGS),
}  # fmt: skip
HEADER = "name,submitted_s,profile,requested_gpus,requested_batch_size"
TABLE = f"{HEADER}\na,0,ncf,1,32768\nb,70,ncf,1,32768\n"


@pytest.fixture
def jobs(tmp_path: Path) -> Path:
    path = tmp_path / "two.csv"
    path.write_text(TABLE)
    return path


Result = tuple[int, str, str]


def headway(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: object
) -> Result:
    """Exit code, stdout and stderr of the command line."""
    monkeypatch.setattr(sys, "argv", ["headway", *map(str, arguments)])
    try:
        main()
        code = 0
    except SystemExit as stop:
        code = int(stop.code or 0)
    return (code, *capsys.readouterr())


def test_json_is_one_object_with_exactly_the_keys_of_the_contract(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], jobs: Path
) -> None:
    policies = ["--policy", "pollux", "--policy", "las", "--policy", "fifo"]
    code, out, err = headway(
        monkeypatch, capsys, "simulate", jobs, "--cluster", "2x4", *policies, "--json"
    )
    answer = json.loads(out)
    assert (code, err) == (0, "")
    assert set(answer) == {"workload", "cluster", "seed", "results"}
    assert (answer["workload"], answer["cluster"], answer["seed"]) == ("two", "2x4", 0)
    assert [result["policy"] for result in answer["results"]] == ["pollux", "las", "fifo"]
    for result in answer["results"]:
        assert set(result) == KEYS
        assert (result["jobs"], result["finished"], result["restarts"]) == (2, 2, 0)
    fifo = answer["results"][2]
    assert fifo["avg_queueing_s"] == (0 + 50) / 2, "decided at the next round start"
    assert fifo["gap_max"] is None


def test_rounds_and_restarts_are_as_long_as_asked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], jobs: Path
) -> None:
    def average_s(*options: str) -> float:
        code, out, _ = headway(
            monkeypatch, capsys, "simulate", jobs, "--policy", "fifo", *options, "--json"
        )
        assert code == 0
        found: float = json.loads(out)["results"][0]["avg_jct_s"]
        return found

    usual_s = average_s()
    assert average_s("--restart-s", "5") == pytest.approx(usual_s - 25)
    assert average_s("--round-s", "7") == pytest.approx(usual_s - 25), "70 s is a round start"


def test_people_get_a_table_with_a_column_for_each_policy(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], jobs: Path
) -> None:
    code, out, err = headway(
        monkeypatch, capsys, "simulate", jobs, "--policy", "las", "--policy", "fifo"
    )
    lines = out.splitlines()
    assert (code, err) == (0, "")
    assert lines[0].split() == ["policy", "las", "fifo"]
    assert lines[1].split() == ["finished", "2", "2"]
    assert lines[2].startswith("avg JCT s")
    assert max(map(len, lines)) <= 80


def test_the_event_log_is_the_same_bytes_every_time(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], jobs: Path, tmp_path: Path
) -> None:
    logs = []
    for name in ("one", "two"):
        out = tmp_path / name
        code, _, _ = headway(
            monkeypatch, capsys, "simulate", jobs, "--set", "sim.noise=0.1", "--out", out
        )
        assert code == 0
        logs.append((out / "headway" / "events.jsonl").read_bytes())
    assert logs[0] == logs[1]


def test_a_cluster_that_scales_starts_as_given_and_costs_what_was_there(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Three jobs of four GPUs each: one node of four is too few for them, and none is wider."""
    path = tmp_path / "three.csv"
    rows = "".join(f"{name},0,cifar10,4,512,2000000\n" for name in "abc")
    path.write_text(f"{HEADER},work_examples\n{rows}")
    options = ("--cluster", "1x4", "--policy", "las+goodput", "--policy", "las")
    settings = ("--set", "las+goodput.max_nodes=3", "--set", "sim.provision_s=45")
    code, out, err = headway(
        monkeypatch, capsys, "simulate", path, *options, *settings, "--out", tmp_path, "--json"
    )
    assert (code, err) == (0, "")
    scaled, fixed = json.loads(out)["results"]
    assert fixed["node_hours"] == pytest.approx(fixed["makespan_s"] / 3600)
    assert scaled["avg_jct_s"] < fixed["avg_jct_s"]
    assert scaled["provisioned_gpu_hours"] == pytest.approx(4 * scaled["node_hours"])
    log = (tmp_path / "las+goodput" / "events.jsonl").read_text()
    events = [json.loads(line) for line in log.splitlines()]
    joined = [event["at_s"] for event in events if event["event"] == "NodeJoined"]
    asked = [event["at_s"] for event in events if event.get("scaling")]
    assert joined[:2] == [0, asked[0] + 45]
    first = next(event["scaling"] for event in events if event.get("scaling"))
    assert (first["code"], first["nodes"] > 1) == ("UtilityHigh", True)


def test_what_goes_beyond_the_profiles_is_said_on_stderr(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "wide.csv"
    path.write_text(f"{HEADER},work_examples\na,0,bert,20,384,2000\n")
    code, out, err = headway(
        monkeypatch, capsys, "simulate", path, "--cluster", "20x1", "--policy", "fifo", "--json"
    )
    assert code == 0
    assert json.loads(out)["results"][0]["finished"] == 1
    assert "beyond what was measured, as bert on 1+1+1" in err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--policy", "polux"], "unknown policy 'polux'; choose one of pollux"),
        (["--policy", "fifo", "--policy", "fifo"], "names one policy twice"),
        (["--set", "headway.p=1"], "policy headway has no setting 'p'"),
        (["--set", "headway.q=low"], "headway.q must be of type float"),
        (["--set", "las.p=1"], "'las' is not one of sim, headway"),
        (["--set", "p=1"], "must be NAME.KEY=VALUE"),
        (["--set", "sim.speed=1"], "the simulator has no 'speed'; it has noise, interference"),
        (["--set", "sim.interference=1"], "sim.interference must be a number from 0 to 0.95"),
        (["--set", "sim.restart_spread=x"], "sim.restart_spread must be a number from 0 to 2"),
        (["--set", "sim.provision_s=soon"], "sim.provision_s must be a number from 0 to 1e+07"),
        (["--policy", "pollux+size"], "policy pollux+size: unknown scaler 'size'; choose one of"),
        (
            ["--policy", "las+goodput", "--set", "las+goodput.low=2"],
            "goodput.low and goodput.high must be 0 <= low <= high <= 1",
        ),
        (["--set", "sim.models=known"], "sim.models must be learned or oracle"),
        (["--set", "sim.noise=-1"], "sim.noise must be a number from 0 to 1"),
        (
            ["--set", "sim.throughput=fast"],
            "sim.throughput must be one of linear, collective, best; not",
        ),
        (["--cluster", "16by4"], "--cluster '16by4' is neither"),
        (["--round-s", "0"], "--round-s must be from 0.001 to"),
        (["--restart-s", "-1"], "--restart-s must be from 0 to"),
        (["--restart-s", "nan"], "--restart-s must be from 0 to"),
        (["--seed", "-1"], "--seed must not be negative"),
        (["--seed", "x"], "--seed"),
        (["--format", "slurm"], "--format 'slurm' is not known; choose gavel, headway, pollux"),
        (["--profiles", "nowhere"], "--profiles nowhere does not exist"),
    ],
)
def test_a_bad_option_is_one_line_and_exit_code_2(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    jobs: Path,
    options: list[str],
    said: str,
) -> None:
    code, out, err = headway(monkeypatch, capsys, "simulate", jobs, *options, "--json")
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "cannot be read: No such file"),
        ("", "is empty"),
        ("job,when\n", "no known workload format"),
        (f"{HEADER}\na,0,ncf,0,32768\n", "line 2: requested_gpus must be at least 1, not 0"),
        (f"{HEADER}\na,-5,ncf,1,32768\n", "line 2: submitted_s must be a number that is not"),
        (f"{HEADER}\na,0,ncf", "line 2: requested_gpus is missing"),
        (f"{HEADER},min_gpus\na,0,bert,9,12,9\n", "job a needs at least 9 GPUs and the cluster"),
    ],
)
def test_a_bad_workload_is_one_line_and_exit_code_2(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    jobs: Path,
    content: str | None,
    said: str,
) -> None:
    if content is None:
        jobs.unlink()
    else:
        jobs.write_text(content)
    code, out, err = headway(monkeypatch, capsys, "simulate", jobs, "--cluster", "2x4")
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1


def test_a_log_that_cannot_be_written_is_a_failure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], jobs: Path
) -> None:
    """A full disk: every write to this device fails."""
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("needs /dev/full")
    out = jobs.parent / "out"
    (out / "fifo").mkdir(parents=True)
    (out / "fifo" / "events.jsonl.part").symlink_to(full)
    code, printed, err = headway(
        monkeypatch, capsys, "simulate", jobs, "--policy", "fifo", "--out", out, "--json"
    )
    assert (code, printed) == (1, "")
    assert "events.jsonl cannot be written: No space left on device" in err
    assert err.count("\n") == 1


def test_a_folder_that_is_a_file_is_a_failure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], jobs: Path
) -> None:
    code, _, err = headway(monkeypatch, capsys, "simulate", jobs, "--out", jobs)
    assert code == 1
    assert "cannot be written" in err


def test_tenants_have_weights_from_a_file_and_their_gpu_hours_are_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    table, weights = tmp_path / "two.csv", tmp_path / "tenants.yaml"
    rows = "".join(f"{name},0,cifar10,4,512,{name[0]}\n" for name in ("a1", "a2", "b1"))
    table.write_text(f"{HEADER},tenant\n{rows}")
    weights.write_text("tenants: {a: 1, b: 4.0}")
    options = ("simulate", table, "--cluster", "2x4", "--policy", "pollux")
    out = tmp_path / "out"
    _, text, _ = headway(
        monkeypatch, capsys, *options, "--policy", "fifo", "--tenants", weights, "--out", out
    )
    assert text.splitlines()[-2].startswith("GPU-h a")
    first = (out / "pollux" / "events.jsonl").read_text().splitlines()[0]
    assert json.loads(first)["settings"] == {"tenants": "a:1,b:4"}
    first = (out / "fifo" / "events.jsonl").read_text().splitlines()[0]
    assert json.loads(first)["settings"] == {}
    _, even, _ = headway(monkeypatch, capsys, *options, "--json")
    _, heavy, _ = headway(monkeypatch, capsys, *options, "--tenants", weights, "--json")
    (a, b), (a_heavy, b_heavy) = (
        json.loads(answer)["results"][0]["tenants"] for answer in (even, heavy)
    )
    assert (a["tenant"], a["jobs"], a["finished"]) == ("a", 2, 2)
    assert b_heavy["avg_jct_s"] < b["avg_jct_s"]
    assert a_heavy["avg_jct_s"] > a["avg_jct_s"]


@pytest.mark.parametrize(
    ("content", "policy", "said"),
    [
        ("tenants: {a: 0}", "pollux", "the weight of a must be a number from 0.001 to 1000"),
        ("tenants: [a]", "pollux", "must hold one field, as in tenants: {vision: 2, speech: 1}"),
        ("a: 1", "pollux", "must hold one field"),
        ("{", "pollux", "is not YAML"),
        ("tenants: {}", "pollux", "tenants is empty"),
        ("tenants: {a: 1}", "fifo", "fifo does not weigh tenants; add --policy headway"),
        ("tenants: {defualt: 2}", "pollux", "belongs to 'defualt'; write one of default"),
    ],
)
def test_a_table_of_tenants_that_cannot_be_used_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, jobs: Path,
    content: str, policy: str, said: str,
) -> None:  # fmt: skip
    path = tmp_path / "tenants.yaml"
    path.write_text(content)
    code, out, err = headway(
        monkeypatch, capsys, "simulate", jobs, "--policy", policy, "--tenants", path
    )
    assert (code, out) == (2, "")
    assert said in err
    assert len(err.splitlines()) == 1
