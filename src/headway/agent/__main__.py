"""``python -m headway.agent``: the agent of the job that HEADWAY_JOB_FILE names."""

import argparse
import os
import signal
from functools import partial
from pathlib import Path

import psutil

from headway.agent.ending import run_out
from headway.agent.forkserver import Seat, adopt_orphans, fork, warm
from headway.agent.link import Outbox
from headway.agent.program import Program, Start, run, torch_is_there
from headway.agent.seats import Table
from headway.agent.supervisor import Limits, Supervisor
from headway.core.errors import InvalidInputError
from headway.protocol.environment import JOB_FILE, WARM
from headway.protocol.jobdir import AgentRecord, JobDir

PATIENCE_SHARE = 0.5  # of the time for a checkpoint, which a switch that fails still needs


def main() -> None:
    """Supervise until the job has ended; in each forked process: be its script."""
    options = _options()
    where = JobDir(Path(os.environ[JOB_FILE]).resolve().parent)
    group = options.group if options.group and _join(Path(options.group)) else None
    started_s = psutil.Process().create_time()
    where.write_agent(AgentRecord(pid=os.getpid(), started_s=started_s, group=group))
    adopt_orphans()
    table = _table(where, tuple(filter(None, options.devices.split(","))), options.grace_s)
    if _is_worth_warming(table):
        own = ("headway.agent.start",) if table.attaches else ()
        warm((*own, *table.program.preloads(table.workdir)))
    limits = Limits(grace_s=options.grace_s, term_s=options.term_s)
    supervisor = Supervisor(table, Outbox(table.job.job_id), limits)
    signal.signal(signal.SIGTERM, lambda *_: setattr(supervisor, "leaving", True))
    if _supervise(supervisor) is not None:
        run_out(partial(run, table.program))


def _supervise(supervisor: Supervisor) -> Seat | None:
    """Its seat in a forked process; None in the agent, at its end."""
    table = supervisor.table
    while not supervisor.done:
        pids: list[int] = []
        for seat in supervisor.turn():
            pids.append(fork(seat, table.program, table.workdir))
            if pids[-1] == 0:
                return seat
        if pids:
            supervisor.seated(pids)
    return None


def _table(where: JobDir, devices: tuple[str, ...], grace_s: float) -> Table:
    job = where.job()
    if job is None:
        raise InvalidInputError(f"{where.job_file}: there is no such file")
    workdir = job.launch.workdir if job.launch else str(where.path)
    program = Program.of(job.launch.command if job.launch else ()).seated(workdir)
    return Table(
        job=job,
        where=where,
        program=program,
        workdir=workdir,
        attaches=program.attaches(workdir),
        devices=devices,
        patience_s=PATIENCE_SHARE * grace_s,
    )


def _join(group: Path) -> bool:
    """Go into a control group, and with us all that we shall start."""
    try:
        (group / "cgroup.procs").write_text("0")
    except OSError:
        return False
    return True


def _is_worth_warming(table: Table) -> bool:
    """Not for a program of its own, nor for one that cannot be started at all."""
    wished = os.environ.get(WARM) != "0" and table.program.start is Start.FORK
    return wished and table.program.problem(table.workdir) is None and torch_is_there()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m headway.agent", description=__doc__)
    parser.add_argument("--grace-s", type=float, default=30.0, help="for a checkpoint")
    parser.add_argument("--term-s", type=float, default=5.0, help="between SIGTERM and SIGKILL")
    parser.add_argument("--devices", default="", help="names of the GPUs, by slot")
    parser.add_argument("--group", help="the control group to be in")
    return parser.parse_args()


if __name__ == "__main__":
    main()
