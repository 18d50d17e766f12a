"""A job whose directory somebody deletes or breaks must not hold up any other job."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from headway.core.control.commands import StopReason
from headway.core.types import Launch
from headway.testing.agents import LockedEngine
from headway.testing.engines import a_job, observe_until, run, started, stop, stopped

Launcher = Callable[..., Launch]


@pytest.mark.parametrize("broken", [False, True], ids=["deleted", "a file in its place"])
def test_other_jobs_go_on(
    engine: LockedEngine, launch: Launcher, tmp_path: Path, broken: bool
) -> None:
    """Every look at the engine failed from then on: no job was started, none was ever ended."""
    victim, other = (a_job(name, launch("python", "elastic.py")) for name in "ab")
    engine.apply(run(engine, victim, 1, 1))
    observe_until(engine, started(victim, 1))
    folder = tmp_path / "state" / "jobs" / victim.job_id
    shutil.rmtree(folder)
    if broken:
        folder.write_text("not a folder")
    engine.apply(stop(victim, 2, StopReason.CANCEL))
    engine.apply(run(engine, other, 1, 1))
    observe_until(engine, started(other, 1))
    engine.apply(stop(other, 2, StopReason.CANCEL))
    observe_until(engine, stopped(other, 2))
    if not broken:
        observe_until(engine, lambda _: engine.holds() == {})
