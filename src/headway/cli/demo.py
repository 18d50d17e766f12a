"""``headway demo``: a service of its own, four real training jobs, and what the policy does."""

import contextlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import click

from headway.cli import demo_view
from headway.cli.client import Client
from headway.cli.demo_jobs import JOBS, DemoJob
from headway.cli.output import make_table, print_json, print_table
from headway.core.control.events import Event
from headway.core.errors import InvalidInputError, UnavailableError
from headway.core.policy import DEFAULT
from headway.core.words import counted
from headway.protocol import eventlog
from headway.report.story import JobStory, Stories

if TYPE_CHECKING:
    from rich.table import Table

START_LIMIT_S = 60.0  # a service that is not up by then will not come up
LOOK_EVERY_S = 0.5
EVENTS_FILE = "events.jsonl"


@click.command("demo")
@click.option("--slots", type=click.IntRange(1, 64), default=4, show_default=True)
@click.option("--round-s", type=click.FloatRange(1), default=5.0, show_default=True)
@click.option("--policy", default=DEFAULT, show_default=True)
@click.option("--limit-s", type=click.FloatRange(1), default=900.0, show_default=True)
@click.option("--keep", type=click.Path(path_type=Path), help="Folder for state and event log.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object at the end.")
def demo_command(
    slots: int, round_s: float, policy: str, limit_s: float, keep: Path | None, as_json: bool
) -> None:
    """Run four real PyTorch jobs under the scheduler on this machine.

    Exits 0 only if every job reached its target and read every sample of every epoch once.
    """
    for package in ("torch", "sklearn", "fastapi"):
        if find_spec(package) is None:
            raise InvalidInputError(f"the demo needs {package}; pip install 'headway[demo]'")
    folder = _folder(keep)
    options = ["--slots", str(slots), "--round-s", str(round_s), "--policy", policy]
    with _service(folder, options) as client:
        watched = _Watched(client, folder / EVENTS_FILE, quiet=as_json)
        _run(watched, JOBS, slots, limit_s)
    _tell(watched.stories, folder, as_json=as_json)


def _folder(keep: Path | None) -> Path:
    """An empty folder: two runs in one would tell one confused story."""
    if keep is None:
        return Path(tempfile.mkdtemp(prefix="headway-demo-"))
    if keep.exists() and (not keep.is_dir() or any(keep.iterdir())):
        raise InvalidInputError(f"--keep {keep} is not an empty folder; choose a new one")
    keep.mkdir(parents=True, exist_ok=True)
    return keep


@contextlib.contextmanager
def _service(folder: Path, options: Sequence[str]) -> Iterator[Client]:
    """A service on a free port; it and all its jobs are gone when the block is left."""
    command = [sys.executable, "-m", "headway.cli", "serve", "--port", "0", "--stop-jobs"]
    log = (folder / "service.log").open("wb")
    with (
        log,
        subprocess.Popen(
            [*command, "--state", str(folder), *options], stdout=log, stderr=subprocess.STDOUT
        ) as process,
    ):
        try:
            yield _wait_for(process, folder)
        finally:
            process.terminate()
            process.wait()


def _wait_for(process: subprocess.Popen[bytes], folder: Path) -> Client:
    begin = time.monotonic()
    while time.monotonic() - begin < START_LIMIT_S:
        if process.poll() is not None:
            said = (folder / "service.log").read_text().strip().splitlines()
            raise UnavailableError(f"the service did not start: {said[-1] if said else 'no word'}")
        try:
            client = Client.find(state=folder)
            client.get("/health")
        except UnavailableError:
            time.sleep(0.1)
        else:
            return client
    raise UnavailableError(f"the service did not start within {START_LIMIT_S:.0f} s")


class _Watched:
    """Follows the event log of a service: keeps it, folds it, shows it."""

    def __init__(self, client: Client, log: Path, *, quiet: bool) -> None:
        self.client = client
        self.stories = Stories()
        self.start_s = time.time()
        self._after = 0
        self._log = log
        self.quiet = quiet
        self._lines = not quiet and not sys.stdout.isatty()

    def look(self) -> None:
        """Fetch what is new."""
        page = self.client.get("/api/v1/events", after=self._after)
        self._after = page["next_after"]
        with self._log.open("ab") as file:
            for fields in page["events"]:
                event = eventlog.convert(fields)
                file.write(eventlog.encode(event) + b"\n")
                self._show(event)

    def _show(self, event: Event) -> None:
        self.stories.add(event)
        if self._lines:
            for line in demo_view.lines(event, self.stories, self.start_s):
                click.echo(line)


def _run(watched: _Watched, jobs: Sequence[DemoJob], slots: int, limit_s: float) -> None:
    """Submit each job when it arrives, and watch until all have ended."""
    waiting = sorted(jobs, key=lambda job: job.arrives_s)
    with _screen(watched, jobs) as redraw:
        while True:
            passed_s = time.time() - watched.start_s
            while waiting and waiting[0].arrives_s <= passed_s:
                watched.client.post("/api/v1/jobs", waiting.pop(0).body(slots))
            watched.look()
            redraw()
            if not waiting and all(story.end for story in watched.stories.by_job.values()):
                return
            if passed_s > limit_s:
                raise UnavailableError(f"not done after {limit_s:.0f} s; raise --limit-s")
            time.sleep(LOOK_EVERY_S)


@contextlib.contextmanager
def _screen(watched: _Watched, jobs: Sequence[DemoJob]) -> Iterator[Callable[[], None]]:
    """A live table on a terminal; nothing to redraw elsewhere."""
    if not sys.stdout.isatty() or watched.quiet:
        yield lambda: None
        return
    from rich.live import Live

    def table() -> "Table":
        rows = demo_view.live_rows(watched.stories, jobs)
        return make_table(demo_view.LIVE_COLUMNS, rows, right=demo_view.RIGHT)

    with Live(table(), refresh_per_second=4) as live:
        yield lambda: live.update(table())


def _tell(stories: Stories, folder: Path, *, as_json: bool) -> None:
    """The table, where the log is, and the verdict."""
    told = list(stories.by_job.values())
    resizes = sum(story.resizes for story in told)
    log = folder / EVENTS_FILE
    if as_json:
        jobs = [_plain(story) for story in told]
        print_json({"jobs": jobs, "resizes": resizes, "event_log": str(log)})
    else:
        click.echo()
        print_table(demo_view.END_COLUMNS, demo_view.end_rows(stories, JOBS), right=demo_view.RIGHT)
        click.echo(f"\n{counted(resizes, 'resize')} of running jobs. Event log: {log}")
    problems = [f"{story.name} {problem}" for story in told if (problem := _problem(story))]
    if problems:
        raise UnavailableError("; ".join(problems))


def _problem(story: JobStory) -> str:
    """What a job failed to do, or nothing."""
    job = next(job for job in JOBS if job.name == story.name)
    if story.end != "finished":
        return f"has {story.end}: {story.message}"
    if not job.reached(story.metric):
        return f"missed its target: {job.shown(story.metric)} for {job.shown(job.target)}"
    if story.inexact_epochs or not story.epochs:
        return f"lost or repeated samples in epochs {story.inexact_epochs}"
    return ""


def _plain(story: JobStory) -> dict[str, object]:
    job = next(job for job in JOBS if job.name == story.name)
    return {
        "job": story.name,
        "end": story.end,
        "jct_s": story.jct_s,
        "gpus": story.gpus,
        "batch_sizes": story.batch_sizes,
        "resizes": story.resizes,
        "metric": story.metric,
        "target": job.target,
        "reached": job.reached(story.metric),
        "noise_scale": story.noise_scale,
        "epochs": len(story.epochs),
        "inexact_epochs": story.inexact_epochs,
    }
