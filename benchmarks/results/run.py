"""Runs commands in processes of their own, some at a time, and keeps what they answer."""

import csv
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from resource import struct_rusage
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.results.command import DATA, MADE, Command
from benchmarks.results.store import JobRow, Record, Store

KIBI = 1024  # the unit of ru_maxrss


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where commands run."""

    root: Path  # of the repository
    data: Path


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a command has no answer, in one line."""

    why: str


def run_missing(
    commands: Sequence[Command],
    store: Store,
    place: Place,
    *,
    processes: int,
    tell: Callable[[str], None],
) -> dict[Command, Failure]:
    """Run what the store lacks, what is timed last and alone; those that failed, and why."""
    missing = [command for command in dict.fromkeys(commands) if store.load(command) is None]
    failed: dict[Command, Failure] = {}
    number = count(1)
    for timed in (False, True):
        some = [command for command in missing if command.timed is timed]
        for command, outcome in _outcomes(some, place, 1 if timed else processes):
            if isinstance(outcome, Failure):
                failed[command] = outcome
                said = f"failed: {outcome.why}"
            else:
                store.save(command, outcome)
                said = f"{outcome.cpu_s:.1f} CPU s"
            tell(f"{next(number)}/{len(missing)} {command.text}: {said}")
    return failed


def _outcomes(
    commands: Sequence[Command], place: Place, processes: int
) -> Iterator[tuple[Command, Record | Failure]]:
    """As they end; what has not begun when the reader stops never does."""
    pool = ThreadPoolExecutor(processes)
    try:
        running = {pool.submit(run, command, place): command for command in commands}
        for future in as_completed(running):
            yield running[future], future.result()
    finally:
        pool.shutdown(cancel_futures=True)


def run(command: Command, place: Place) -> Record | Failure:
    """One command from start to end."""
    scripts = [_script(words) for words in command.parts if words[0] == "python"]
    absent = [name for name in scripts if not (place.root / name).is_file()]
    if absent:
        return Failure(f"there is no {absent[0]}")
    with TemporaryDirectory() as folder:
        out = Path(folder)
        code, record = _finished(command, place, out)
        said = (out / "stderr").read_text(encoding="utf-8").strip().splitlines()
        if code != 0:
            why = said[-1].removeprefix("headway: ") if said else f"exit status {code}"
            for name, path in _folders(place, out).items():
                why = why.replace(path, name)
            return Failure(why.replace(f"{place.root}/", ""))
        try:
            answer = _answer((out / "stdout").read_text(encoding="utf-8"))
        except json.JSONDecodeError:
            return Failure("it printed something that is not JSON")
        if _simulates(command):
            (answer,) = answer["results"]
            jobs = tuple(_jobs(out / answer["policy"] / "jobs.csv"))
            return replace(record, answer=answer, jobs=jobs)
        return replace(record, answer=answer)


def _answer(text: str) -> Any:
    """One JSON value, or one a line as a list."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return [json.loads(line) for line in text.splitlines()]


def _finished(command: Command, place: Place, out: Path) -> tuple[int, Record]:
    """Exit status, and a record of the costs; after a part that failed no other is run."""
    code, cpu_s, peak_bytes = 0, 0.0, 0
    for words in command.parts:
        code, usage = _waited(words, place, out)
        cpu_s = usage.ru_utime + usage.ru_stime
        peak_bytes = usage.ru_maxrss * KIBI
        if code != 0:
            break
    record = Record(command=command.text, answer=None, cpu_s=cpu_s, peak_bytes=peak_bytes)
    return code, record


def _waited(words: tuple[str, ...], place: Place, out: Path) -> tuple[int, struct_rusage]:
    """Exit status and costs of one part."""
    paths = [str(place.root / "src"), os.environ.get("PYTHONPATH", "")]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(path for path in paths if path),
        "OMP_NUM_THREADS": "1",
    }
    with (out / "stdout").open("wb") as stdout, (out / "stderr").open("wb") as stderr:
        process = subprocess.Popen(
            _words(words, place, out),
            cwd=place.root,
            env=environment,
            stdout=stdout,
            stderr=stderr,
        )
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, usage


def _words(words: tuple[str, ...], place: Place, out: Path) -> list[str]:
    full = list(words)
    for name, path in _folders(place, out).items():
        full = [word.replace(name, path) for word in full]
    if words[:2] == ("headway", "simulate"):
        full += ["--json", "--out", str(out)]
    return [sys.executable, *(("-m", "headway.cli") if words[0] == "headway" else ()), *full[1:]]


def _folders(place: Place, out: Path) -> dict[str, str]:
    """By the words that stand for them."""
    return {DATA: str(place.data), MADE: str(out)}


def _script(words: tuple[str, ...]) -> str:
    """The file of ``python FILE`` or ``python -m MODULE``."""
    return words[2].replace(".", "/") + ".py" if words[1] == "-m" else words[1]


def _simulates(command: Command) -> bool:
    return command.parts[-1][:2] == ("headway", "simulate")


def _jobs(path: Path) -> Iterator[JobRow]:
    """Of those that finished; all do, or the count in the answer says so."""
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["jct_s"]:
                yield JobRow(
                    name=row["name"],
                    submitted_s=float(row["submitted_s"]),
                    jct_s=float(row["jct_s"]),
                    restarts=int(row["restarts"]),
                    rho=float(row["rho"]),
                )
