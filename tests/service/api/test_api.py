"""The REST API of a real service, as its users call it."""

import json
import urllib.error
import urllib.request
from typing import Any

import pytest

from headway.core.errors import InvalidInputError, UnavailableError
from headway.protocol import eventlog
from headway.protocol.messages import (
    AgentPhase,
    AgentReport,
    EpochCount,
    decode_directive,
    encode,
)
from headway.service.client import Client
from headway.testing.service import Running, until
from headway.testing.stores import change, report

JOBS = "/api/v1/jobs"


def body(job_name: str, **fields: Any) -> dict[str, Any]:
    return {"name": job_name, "run": "sleep 600", "workdir": "/tmp", **fields}


def raw(
    service: Running, method: str, path: str, data: bytes | None = None, token: str | None = None
) -> tuple[int, Any]:
    """Status and body, whatever they are."""
    token = (service.state / "token").read_text() if token is None else token
    request = urllib.request.Request(service.url + path, data=data, method=method)
    request.add_header("Authorization", f"Bearer {token}")
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            kind, code, answer = error.headers["Content-Type"], error.code, json.load(error)
    assert kind == "application/problem+json"
    return code, answer


@pytest.fixture
def client(service: Running) -> Client:
    return service.client


def test_a_job_from_submission_to_cancellation(client: Client) -> None:
    made = client.post(JOBS, body("whole", gpus="1-2", work=100.0))
    assert made["job_id"] == "whole"
    until(lambda: client.get(f"{JOBS}/whole")["phase"] == "running")
    shown = client.get(f"{JOBS}/whole")
    assert shown["gpus"] == sum(shown["allocation"].values()) == 2  # fifo: what was requested
    assert shown["why"]["code"] in {"Started", "Kept"}
    assert shown["why"]["numbers"]["gpus_after"] == 2
    assert [entry["event"] for entry in shown["history"]] == [
        "JobSubmitted",
        "Allocated",
        "JobStarted",
    ]
    cluster = client.get("/api/v1/cluster")
    assert cluster["nodes"][0]["jobs"]["whole"] == 2
    assert cluster["horizon_s"] == cluster["round_s"] == 0.2
    assert client.post(f"{JOBS}/whole/cancel")["phase"] == "cancelled"
    assert client.delete(f"{JOBS}/whole")["phase"] == "cancelled"  # again: nothing new
    assert "whole" not in [job["job_id"] for job in client.get(JOBS)["jobs"]]
    listed = client.get(JOBS, ended="true")["jobs"]
    assert "whole" in [job["job_id"] for job in listed]
    until(lambda: "whole" not in client.get("/api/v1/cluster")["slots"])


def test_names_may_be_used_again_and_identifiers_are_not(client: Client) -> None:
    ids = [client.post(JOBS, body("twin"))["job_id"] for _ in range(3)]
    assert ids == ["twin", "twin-2", "twin-3"]
    for job_id in ids:
        client.delete(f"{JOBS}/{job_id}")
    assert client.post(JOBS, body("twin"))["job_id"] == "twin-4"
    client.delete(f"{JOBS}/twin-4")


def test_an_agent_reports_and_is_told(service: Running, client: Client) -> None:
    client.post(JOBS, body("spoken", gpus=1, batch={"mode": "adaptive", "initial": 32, "max": 64}))
    until(lambda: client.get(f"{JOBS}/spoken")["phase"] == "running")

    def say(phase: AgentPhase, **fields: Any) -> Any:
        message = AgentReport(job_id="spoken", phase=phase, generation=1, **fields)
        status, answer = raw(service, "POST", "/api/v1/agents/spoken", encode(message))
        assert status == 200
        return decode_directive(json.dumps(answer).encode())

    epoch = EpochCount(epoch=0, samples=9, read_least=1, read_most=1)
    directive = say(AgentPhase.RUNNING, sequence=1, report=report(50.0), changes=(change(),))
    assert (directive.generation, len(directive.slots)) == (1, 1)
    say(AgentPhase.RUNNING, sequence=1, report=report(50.0), changes=(change(),))
    say(AgentPhase.FINISHED, sequence=2, report=report(60.0), epochs=(epoch,))
    until(lambda: client.get(f"{JOBS}/spoken")["phase"] == "finished")
    shown = client.get(f"{JOBS}/spoken")
    assert shown["report"]["progress_examples"] == 60.0
    assert shown["gpus"] == 0
    told = [entry["event"] for entry in shown["history"]]
    assert told.count("BatchChanged") == told.count("EpochRead") == 1
    of_job = client.get("/api/v1/events", job_id="spoken", limit=10_000)["events"]
    assert [event["event"] for event in of_job][-1] == "JobFinished"


def test_an_agent_that_speaks_for_another_job_is_refused(service: Running) -> None:
    message = encode(AgentReport(job_id="a", phase=AgentPhase.IDLE, generation=0))
    status, answer = raw(service, "POST", "/api/v1/agents/b", message)
    assert (status, answer["detail"]) == (422, "job_id: the body says 'a', the path 'b'")
    status, answer = raw(service, "POST", "/api/v1/agents/b", b"{}")
    assert status == 422
    assert "job_id" in answer["detail"]


def test_the_log_can_be_followed_and_read_as_events(client: Client) -> None:
    after, lines = 0, []
    while True:
        page = client.get("/api/v1/events", after=after, limit=3)
        if not page["events"]:
            break
        lines += page["events"]
        after = page["next_after"]
    assert [line["sequence"] for line in lines] == list(range(1, len(lines) + 1))
    for line in lines:
        fields = {key: value for key, value in line.items() if key != "sequence"}
        event = eventlog.decode(json.dumps(fields).encode())
        assert type(event).__name__ == line["event"]


def test_a_dry_run_submits_nothing(client: Client) -> None:
    before = client.get("/api/v1/events", limit=10_000)["events"]
    told = client.post(JOBS, body("dry", gpus="1-9"), dry_run="true")
    assert told["job_id"] == "dry"
    assert "may hold 1 to 9 GPUs" in told["message"]
    assert "Nothing was submitted" in told["message"]
    kinds = [e["event"] for e in client.get("/api/v1/events", limit=10_000)["events"]]
    assert kinds.count("JobSubmitted") == [e["event"] for e in before].count("JobSubmitted")


def test_logs_go_on_from_where_they_were(service: Running, client: Client) -> None:
    client.post(JOBS, body("printer"))
    empty = client.get(f"{JOBS}/printer/logs")
    assert (empty["text"], empty["size"], empty["ended"]) == ("", 0, False)
    folder = service.state / "jobs" / "printer"
    folder.mkdir(parents=True)
    (folder / "log.txt").write_bytes(b"one\ntwo\nthr\xff")
    first = client.get(f"{JOBS}/printer/logs")
    assert first["text"] == "one\ntwo\nthr\ufffd"
    with (folder / "log.txt").open("ab") as file:
        file.write(b"ee\n")
    assert client.get(f"{JOBS}/printer/logs", offset=first["next_offset"])["text"] == "ee\n"
    assert client.get(f"{JOBS}/printer/logs", tail=3)["text"] == "ee\n"
    client.delete(f"{JOBS}/printer")
    assert client.get(f"{JOBS}/printer/logs")["ended"]


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"gpu": 1}, "gpu: unknown field; did you mean gpus?"),
    ({"gpus": {"mox": 1}}, "gpus.mox: unknown field; did you mean max?"),
    ({"gpus": 0}, "gpus.min: input should be greater than or equal to 1, not 0"),
    ({"gpus": {"min": 4, "max": 2}}, "gpus: min 4 is above max 2; raise max or lower min"),
    ({"gpus": 5}, "gpus.min: the job needs 5 GPUs and the cluster has 4; ask for fewer"),
    ({"gpus": {"min": 3, "max": 8, "sizes": [8]}}, "gpus.min: the job needs 8 GPUs"),
    ({"gpus": {"min": 3, "max": 3, "sizes": "pow2"}}, "sizes has nothing from min 3 to max 3"),
    ({"gpus": "many"}, "gpus: 'many' is no range; write 4 or 1-4"),
    ({"gpus": "1-2", "requested": {"gpus": 3}}, "requested.gpus: 3 is not among"),
    ({"batch": {"mode": "adaptive"}}, "batch: mode adaptive needs initial"),
    (
        {"batch": {"mode": "adaptve"}},
        "batch.mode: input should be 'observe', 'fixed', 'schedule' or",
    ),
    ({"batch": "64-512"}, "batch: mode fixed keeps the batch; drop max, or take mode adaptive"),
    ({"batch": {"initial": 64, "max": 32}}, "batch: initial 64 is above max 32; raise max"),
    ({"batch": 2, "gpus": "4-4"}, "batch: 2 examples are too few for gpus.min 4"),
    (
        {"batch": {"initial": 6, "min_per_gpu": 2}, "gpus": {"min": 1, "max": 4, "sizes": [4]}},
        "batch: 6 examples are too few for gpus.sizes 4 with 2 each",
    ),
    (
        {
            "batch": {
                "mode": "adaptive",
                "initial": 6,
                "max": 64,
                "min_per_gpu": 2,
                "freeze_before": 9,
            },
            "gpus": "4-4",
        },
        "batch: 6 examples are too few for gpus.min 4 with 2 each",
    ),
    ({"batch": {"initial": 64, "max_per_gpu": 2}}, "batch.initial: 64 examples do not fit"),
    ({"batch": {"min_per_gpu": 9, "max_per_gpu": 2}}, "min_per_gpu 9 is above max_per_gpu 2"),
    ({"batch": 8, "requested": {"batch": 9}}, "requested.batch: 9 is outside"),
    ({"name": "No Good"}, "name: must match"),
    ({"run": None}, "give one of run and script, as in run: python train.py"),
    ({"run": ""}, "run: string should have at least 1 character"),
    ({"run": "'unclosed"}, "run: No closing quotation; quote it as for a shell"),
    ({"run": "python nosuch.py"}, "run: there is no file nosuch.py in /tmp"),
    ({"run": "nosuchprogram"}, "run: there is no program 'nosuchprogram'"),
    ({"run": None, "script": "nosuch.py"}, "script: there is no file nosuch.py in /tmp"),
    ({"script": "a.py"}, "has both run and script; keep one"),
    ({"workdir": "/nosuch"}, "workdir: there is no folder /nosuch"),
    ({"workdir": "/" + "x" * 3000}, "workdir: there is no folder /xxx"),  # was a 500
    ({"run": "python " + "x" * 3000 + ".py"}, "run: there is no file xxx"),
    ({"run": "./" + "x" * 3000}, "run: there is no program"),
    ({"workdir": "here"}, "workdir: here is no absolute path"),
    ({"weight": 0}, "weight: input should be greater than 0, not 0"),
    ({"env": {"a b": "x"}}, "env.a b"),
]


@pytest.mark.parametrize(("fields", "told"), WRONG, ids=[told[:40] for _, told in WRONG])
def test_what_is_wrong_with_a_job_is_told_by_its_field(
    client: Client, fields: dict[str, Any], told: str
) -> None:
    before = len(client.get(JOBS, ended="true")["jobs"])
    given = {key: value for key, value in body("wrong", **fields).items() if value is not None}
    for dry_run in ("true", "false"):
        with pytest.raises(InvalidInputError) as error:
            client.post(JOBS, given, dry_run=dry_run)
        assert told in str(error.value)
        assert "\n" not in str(error.value)
    assert len(client.get(JOBS, ended="true")["jobs"]) == before


def test_nothing_but_health_is_told_without_the_token(service: Running) -> None:
    schema = service.client.get("/api/v1/openapi.json")
    for path in (*schema["paths"], "/api/v1/openapi.json"):
        for method in schema["paths"].get(path, {"get": None}):
            status, answer = raw(service, method.upper(), path, token="guess")
            if path.endswith("/health"):
                assert (status, answer["status"]) == (200, "ok")
            else:
                assert status == 401, path
                assert "token" in answer["detail"]


def test_a_wrong_token_is_no_bad_input(service: Running) -> None:
    with pytest.raises(UnavailableError, match="bearer token"):
        Client(service.url, "guess").get(JOBS)


def test_there_is_no_such_job(service: Running) -> None:
    for method, path in (
        ("GET", "/x"),
        ("DELETE", "/x"),
        ("POST", "/x/cancel"),
        ("GET", "/x/logs"),
    ):
        status, answer = raw(service, method, JOBS + path)
        assert status == 404
        assert answer["detail"] == "job x: there is none; `headway jobs -a` lists all"
    assert raw(service, "GET", "/nowhere")[0] == 404
    assert raw(service, "PUT", JOBS)[0] == 405


def test_the_description_explains_and_shows(service: Running) -> None:
    schema = service.client.get("/api/v1/openapi.json")
    operations = [op for methods in schema["paths"].values() for op in methods.values()]
    assert all(operation["summary"] and operation["description"] for operation in operations)
    request = schema["components"]["schemas"]["JobRequest"]
    assert request["examples"]
    assert all("description" in field for field in request["properties"].values())
