"""headway jobs, show, explain, logs, cancel: what became of what was submitted."""

import time
from collections.abc import Mapping
from datetime import UTC, datetime
from itertools import groupby
from typing import Any

import click

from headway.cli.client import Client, Connect, service_options
from headway.cli.output import print_json, print_table
from headway.core.errors import InvalidInputError
from headway.core.words import counted, number

FOLLOW_S = 0.5  # between two looks at a log
COLUMNS = ("job", "phase", "reason", "gpus", "of", "batch", "done", "restarts", "age")
Fields = Mapping[str, Any]


class JobName(click.ParamType[str]):
    """The identifier of a job; an empty one would be the address of all jobs."""

    name = "job"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Whether it can be one; the service knows whether there is such a job."""
        if not value or "/" in value or value in {".", ".."}:
            self.fail(f"{value!r} is no job; `headway jobs -a` lists all", param, ctx)
        return value


JOB = JobName()


@click.command("jobs")
@click.option("-a", "--all", "ended", is_flag=True, help="Those that have ended too.")
@service_options
def jobs_command(ended: bool, connect: Connect, as_json: bool) -> None:
    """List jobs: where they are, what they hold, and why."""
    answer = connect().get("/api/v1/jobs", ended="true" if ended else None)
    if as_json:
        print_json(answer)
    elif answer["jobs"]:
        print_table(COLUMNS, [_row(job) for job in answer["jobs"]], right=COLUMNS[3:])
    else:
        click.echo("no jobs" if ended else "no active jobs; `headway jobs -a` lists ended ones")


@click.command("show")
@click.argument("job", type=JOB)
@service_options
def show_command(job: str, connect: Connect, as_json: bool) -> None:
    """Show one job in full: what it holds, why, how far it is, when it ends, how it came there."""
    answer = connect().get(f"/api/v1/jobs/{job}")
    if as_json:
        print_json(answer)
        return
    for key, value in _facts(answer):
        click.echo(f"{key:<10} {value}")
    click.echo("history")
    for entry in shortened(answer["history"]):
        click.echo(f"  {_clock(entry['at_s'])}  {entry['event']:<13} {_happened(entry)}".rstrip())


@click.command("explain")
@click.argument("job", type=JOB)
@service_options
def explain_command(job: str, connect: Connect, as_json: bool) -> None:
    """Say why a job holds what it holds, and what it is promised."""
    answer = connect().get(f"/api/v1/jobs/{job}")
    if as_json:
        told = ("job_id", "phase", "gpus", "explanation", "why", "more", "promise", "no_promise")
        print_json({key: answer[key] for key in told})
    else:
        click.echo(answer["explanation"])


@click.command("logs")
@click.argument("job", type=JOB)
@click.option("-f", "--follow", is_flag=True, help="Go on until the job has ended.")
@click.option("-n", "--tail", type=click.IntRange(min=0), metavar="LINES", help="Only the last.")
@service_options
def logs_command(job: str, follow: bool, tail: int | None, connect: Connect, as_json: bool) -> None:
    """Print what a job has printed."""
    client = connect()
    part = client.get(f"/api/v1/jobs/{job}/logs", tail=None if tail is None else 1 << 20)
    if as_json:
        print_json(part)
        return
    text = part["text"]
    if tail is not None:
        text = "".join(text.splitlines(keepends=True)[-tail:]) if tail else ""
    click.echo(text, nl=False)
    while not _all_read(part) or (follow and not part["ended"]):
        if _all_read(part):
            time.sleep(FOLLOW_S)
        part = client.get(f"/api/v1/jobs/{job}/logs", offset=part["next_offset"])
        click.echo(part["text"], nl=False)


@click.command("cancel")
@click.argument("jobs", type=JOB, nargs=-1, required=True, metavar="JOB...")
@service_options
def cancel_command(jobs: tuple[str, ...], connect: Connect, as_json: bool) -> None:
    """Cancel jobs: their GPUs are freed for good."""
    client = connect()
    cancelled, wrong = _cancel_all(client, jobs)
    if as_json:
        print_json({"jobs": cancelled})
    else:
        for job in cancelled:
            click.echo(f"{job['job_id']} is {job['phase']}")
    if wrong:
        raise wrong[0]


def _cancel_all(
    client: Client, jobs: tuple[str, ...]
) -> tuple[list[Fields], list[InvalidInputError]]:
    """One that does not exist keeps no other from being cancelled."""
    cancelled: list[Fields] = []
    wrong: list[InvalidInputError] = []
    for job in jobs:
        try:
            cancelled.append(client.delete(f"/api/v1/jobs/{job}"))
        except InvalidInputError as error:
            wrong.append(error)
    return cancelled, wrong


def _all_read(part: Fields) -> bool:
    return bool(part["next_offset"] >= part["size"])


def _row(job: Fields) -> tuple[str, ...]:
    return (
        job["job_id"],
        job["phase"],
        job["reason"] or "",
        str(job["gpus"]),
        _span(job),
        _number(job["batch_size"]),
        _done(job),
        str(job["restarts"]),
        _duration(job["age_s"]),
    )


def _beside(spec: Fields) -> list[tuple[str, str]]:
    """What it needs beside each GPU; nothing where it did not say."""
    units = {"cpus_per_gpu": "CPU", "memory_gb_per_gpu": "GB"}
    needs = [counted(spec[name], unit) for name, unit in units.items() if spec.get(name)]
    return [("per gpu", " and ".join(needs))] if needs else []


def _facts(job: Fields) -> list[tuple[str, str]]:
    # with NumPy; the other commands do without
    from headway.cli.promise import promise_line, why_line

    held = ", ".join(f"{gpus} on {node}" for node, gpus in job["allocation"].items())
    facts = [
        ("job", job["job_id"]),
        ("phase", f"{job['phase']} {job['message']}".strip()),
        ("gpus", f"{held or 'none'} (of {_span(job)})"),
        *_beside(job["spec"]),
        ("batch", f"{_number(job['batch_size'])} ({job['batch_mode']})"),
        ("done", _done(job)),
        ("restarts", str(job["restarts"])),
        ("submitted", _clock(job["submitted_s"])),
        ("started", _clock(job["started_s"])),
        ("ended", _clock(job["ended_s"])),
    ]
    facts.append(("promise", promise_line(job)))
    if job["why"]:
        facts.append(("why", why_line(job)))
    if job["report"]:
        doubt = "" if job["report"].get("noise_scale_reliable", True) else " (not reliable)"
        facts.append(("noise", _number(job["report"]["noise_scale"]) + doubt))
        if job["report"].get("eta_s") is not None and job["ended_s"] is None:
            facts.append(("left", f"{_duration(job['report']['eta_s'])} at its present speed"))
        facts.append(("metric", _number(job["report"]["metric"])))
        facts.append(("speed", _speed(job["report"])))
    command = job["spec"]["launch"]["command"] if job["spec"]["launch"] else []
    return [*facts, ("command", " ".join(command))]


def _speed(report: Fields) -> str:
    """Which model foretells it, how well, and what is wrong with that."""
    said = [report["throughput"]["kind"]]
    for error, where in (("step_error", "here"), ("step_error_doubled", "on twice the GPUs")):
        value = report.get(error)
        said.append(f"{where} " + ("untried" if value is None else f"±{100 * value:.2g} %"))
    if report.get("fit_trouble"):
        said.append(f"last fit failed: {report['fit_trouble']}")
    return ", ".join(said)


def shortened(history: list[Fields]) -> list[Fields]:
    """Epochs in a row that were read alike become one entry: a job may have hundreds."""
    short: list[Fields] = []
    for is_epoch, run in groupby(history, key=_epoch_read):
        entries = list(run)
        if is_epoch is None or len(entries) == 1:
            short += entries
        else:
            first, last = (entries[at]["message"].partition(":")[0] for at in (0, -1))
            whole = f"{first} to {last.removeprefix('epoch ')}:{is_epoch}"
            short.append({**entries[-1], "message": whole})
    return short


def _epoch_read(entry: Fields) -> str | None:
    """How an epoch was read, without its number; None for anything else that happened."""
    if entry["event"] != "EpochRead":
        return None
    how: str = entry["message"].partition(":")[2]
    return how


def _happened(entry: Fields) -> str:
    held: int | None = entry["gpus"]
    gpus = None if held is None else counted(held, "GPU")
    batch = None if entry["batch_size"] is None else f"batch {entry['batch_size']}"
    return ", ".join(filter(None, (gpus, batch, entry["message"])))


def _span(job: Fields) -> str:
    low, high = job["min_gpus"], job["max_gpus"]
    return str(low) if low == high else f"{low}-{high}"


def _done(job: Fields) -> str:
    if job["progress_share"] is not None:
        return f"{job['progress_share']:.0%}"
    return _number(job["progress_examples"])


def _number(value: float | None) -> str:
    return "-" if value is None else number(value)


def _duration(seconds: float) -> str:
    minutes, left_s = divmod(int(max(seconds, 0)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{left_s:02}"


def _clock(at_s: float | None) -> str:
    if at_s is None:
        return "-"
    return datetime.fromtimestamp(at_s, UTC).astimezone().strftime("%Y-%m-%d %H:%M:%S")
