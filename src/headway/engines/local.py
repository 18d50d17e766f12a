"""Jobs as processes of this machine, on its GPUs or on CPU slots."""

import logging
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import final

from headway.core.control.commands import JobCommand, RunJob, StopJob, StopReason
from headway.core.control.events import Event, JobFailed, JobFinished, JobStopped
from headway.core.errors import HeadwayError
from headway.core.ids import JobId
from headway.core.types import Node
from headway.engines.localjob import AT_THE_END, MARGIN_S, LocalJob, go_home, last_word, told
from headway.engines.machine import this_node
from headway.engines.processes import Agent, marked
from headway.engines.slots import Slots, SlotTable
from headway.protocol.environment import GPU_TYPE
from headway.protocol.jobdir import JobDir
from headway.protocol.messages import AgentPhase, AgentReport, Directive
from headway.protocol.news import start_of

_log = logging.getLogger(__name__)
CLOSE_S = 10.0  # SIGKILL works at once, or the machine is in deep trouble
AT_WORK = frozenset({AgentPhase.STARTING, AgentPhase.RUNNING})


@final
class LocalEngine:
    """One agent a job; a slot is its job's until the last process that may use it is gone."""

    def __init__(
        self,
        state_dir: Path,
        slots: Slots,
        *,
        environment: Mapping[str, str],
        grace_s: float = 30.0,
        term_s: float = 5.0,
        linger_s: float = 60.0,
    ) -> None:
        """``environment`` says where the service is; ``linger_s``: how long an idle agent stays."""
        self._jobs_dir = state_dir.resolve() / "jobs"
        self._slots = slots
        self._environment = {**environment, GPU_TYPE: slots.gpu_type}
        self._grace_s = grace_s
        self._term_s = term_s
        self._linger_s = linger_s
        self._node = this_node(slots.count, slots.gpu_type)
        self._table = SlotTable(slots.count)
        self._jobs: dict[JobId, LocalJob] = {}
        self._applied: dict[JobId, set[str]] = {}  # of jobs that have not ended
        self._events: list[Event] = []

    def nodes(self) -> tuple[Node, ...]:
        """This machine."""
        return (self._node,)

    def holds(self) -> dict[JobId, tuple[int, ...]]:
        """Slots in use, by job; a slot is in use until its last process is gone."""
        return self._table.holds()

    def apply(self, command: JobCommand) -> None:
        """Begin to make a command true; it goes on in ``hear`` and ``observe``."""
        job_id = command.job.job_id if isinstance(command, RunJob) else command.job_id
        applied = self._applied.setdefault(job_id, set())
        if command.key in applied:
            return
        applied.add(command.key)
        job = self._jobs.pop(job_id, None) or LocalJob(job_id, self._where(job_id))
        self._jobs[job_id] = job  # to the end of the queue
        job.wanted = command
        self._pursue()

    def adopt(self, wanted: Sequence[RunJob]) -> None:
        """Find the agents that outlived the service, and what is left of those that did not."""
        runs, marks = {run.job.job_id: run for run in wanted}, marked()
        for run in wanted:
            self._applied.setdefault(run.job.job_id, set()).add(run.key)
        known = [JobId(path.name) for path in sorted(self._jobs_dir.glob("*")) if path.is_dir()]
        for job_id in dict.fromkeys([*runs, *known]):
            job = LocalJob(job_id, self._where(job_id), wanted=runs.get(job_id))
            if job.where.job_file in marks:
                self._adopt(job)
            elif job.wanted is not None:
                self._conclude(job, "its agent was gone when the service came back")
        self._pursue()

    def hear(self, message: AgentReport) -> Directive:
        """Take an agent's message; the answer is what the agent must make true."""
        job = self._jobs.get(JobId(message.job_id))
        if job is None or job.agent is None:
            return go_home(message)
        if message.sequence > job.sequence:
            job.sequence = message.sequence
            self._take(job, message)
            self._pursue()
        return job.directive

    def observe(self, now_s: float) -> tuple[Event, ...]:
        """What has happened since the last call, stamped with this time."""
        self._each(self._look_after)
        self._pursue()
        events = tuple(replace(event, at_s=now_s) for event in self._events)
        self._events.clear()
        return events

    def close(self, *, stop_jobs: bool) -> None:
        """Let go of the agents, or kill them with all that is theirs."""
        until_s = time.monotonic() + CLOSE_S
        if stop_jobs:
            self._each(lambda job: self._end_processes(job, until_s))
        for job in self._jobs.values():
            if job.agent is not None:
                job.agent.let_go()
        self._jobs.clear()

    def _where(self, job_id: JobId) -> JobDir:
        return JobDir(self._jobs_dir / job_id)

    def _adopt(self, job: LocalJob) -> None:
        job.agent = Agent.recorded(job.where.agent())
        if (record := job.where.slots()) is not None:
            self._table.keep(job.job_id, record.held)
            job.directive = Directive(
                generation=record.generation, slots=record.slots, adapts=record.adapts
            )
        self._jobs[job.job_id] = job
        if job.wanted is None:
            self._tell_to_yield(job, job.directive.generation + 1)

    def _pursue(self) -> None:
        """Come as close to what is wanted as the free slots allow."""
        self._each(self._pursue_one)

    def _pursue_one(self, job: LocalJob) -> None:
        if job.ended:
            return
        if isinstance(job.wanted, StopJob):
            self._stop(job, job.wanted)
        elif job.pending and not job.leaving and isinstance(job.wanted, RunJob):
            self._run(job, job.wanted)

    def _each(self, act: Callable[[LocalJob], None]) -> None:
        """For every job; one whose directory is broken must not hold up the others."""
        for job in tuple(self._jobs.values()):
            try:
                act(job)
            except (OSError, HeadwayError) as error:
                if job.trouble != str(error):
                    _log.error("job %s: %s", job.job_id, error)
                job.trouble = str(error)

    def _run(self, job: LocalJob, run: RunJob) -> None:
        chosen = self._table.choose(job.job_id, run.allocation.gpus, job.directive.slots)
        if chosen is None:
            return
        if job.agent is None and job.where.result() is not None:
            self._conclude(job, "")
            return
        self._table.add(job.job_id, chosen)
        job.where.path.mkdir(parents=True, exist_ok=True)
        directive = Directive(generation=run.generation, slots=chosen, adapts=run.adapts)
        job.tell(directive, self._table.held(job.job_id))
        job.kill_at_s = None
        if job.agent is None:
            self._start_agent(job, run)

    def _start_agent(self, job: LocalJob, run: RunJob) -> None:
        job.where.write_job(run.job)
        job.sequence = 0
        launch = run.job.launch
        options = (
            f"--grace-s={self._grace_s}",
            f"--term-s={self._term_s}",
            f"--devices={','.join(self._slots.devices)}",
        )
        env = {"OMP_NUM_THREADS": "1", **os.environ, **(launch.env if launch else {})}
        workdir = launch.workdir if launch else str(job.where.path)
        job.agent = Agent.start(job.where, options, {**env, **self._environment}, workdir)

    def _stop(self, job: LocalJob, stop: StopJob) -> None:
        if job.agent is None:
            self._conclude(job, "")
        elif stop.why is StopReason.CANCEL and not job.leaving:
            self._tell_to_yield(job, stop.generation, cancel=True)
        elif job.directive.slots or job.directive.generation != stop.generation:
            self._tell_to_yield(job, stop.generation)

    def _tell_to_yield(self, job: LocalJob, generation: int, *, cancel: bool = False) -> None:
        directive = Directive(generation=generation, slots=(), adapts=False, cancel=cancel)
        job.tell(directive, self._table.held(job.job_id))
        job.leaving = cancel
        patience_s = self._term_s + (0.0 if cancel else self._grace_s)
        job.kill_at_s = time.monotonic() + patience_s + MARGIN_S

    def _take(self, job: LocalJob, message: AgentReport) -> None:
        self._events += told(message)
        if message.phase in AT_THE_END:
            self._end(job, message)
        elif message.phase is AgentPhase.IDLE and not job.directive.slots:
            self._has_yielded(job)
        elif message.phase in AT_WORK and message.generation == job.directive.generation:
            self._is_at_work(job, message)

    def _is_at_work(self, job: LocalJob, message: AgentReport) -> None:
        """The workers of the last directive are there, so those before them are gone."""
        self._keep(job, job.directive.slots)
        if message.phase is AgentPhase.RUNNING and job.started != message.generation:
            job.started = message.generation
            self._events.append(start_of(message))

    def _keep(self, job: LocalJob, slots: tuple[int, ...]) -> None:
        """Release all but these; on file first, so that no two jobs ever lay claim to a slot."""
        if self._table.held(job.job_id) != slots:
            job.save(slots)
            self._table.keep(job.job_id, slots)

    def _has_yielded(self, job: LocalJob) -> None:
        self._keep(job, ())
        if job.idle_since_s is None:
            job.idle_since_s = time.monotonic()
        if job.leaving:
            return
        job.kill_at_s = None
        if isinstance(job.wanted, StopJob):
            self._say_stopped(job, job.wanted.generation, "")

    def _say_stopped(self, job: LocalJob, generation: int, message: str) -> None:
        job.wanted = None
        stopped = JobStopped(at_s=0.0, job_id=job.job_id, generation=generation, message=message)
        self._events.append(stopped)

    def _end(self, job: LocalJob, message: AgentReport) -> None:
        """The job's last word, from its agent or from the file that it left."""
        if not job.ended:
            failed = message.phase is AgentPhase.FAILED
            self._events.append(
                JobFailed(at_s=0.0, job_id=job.job_id, message=message.message)
                if failed
                else JobFinished(at_s=0.0, job_id=job.job_id)
            )
        job.ended = True
        job.wanted = None
        self._applied.pop(job.job_id, None)
        self._keep(job, ())
        job.dismiss()

    def _look_after(self, job: LocalJob) -> None:
        if job.agent is None:
            return
        if not job.agent.alive():
            if job.sweep():  # else look again
                self._bury(job)
        elif job.kill_at_s is not None and time.monotonic() > job.kill_at_s:
            job.agent.kill()
        elif not job.leaving and job.wanted is None and job.has_idled_s() > self._linger_s:
            job.dismiss()

    def _bury(self, job: LocalJob) -> None:
        """The last process of a job is gone, and whatever it held is free."""
        self._keep(job, ())
        code = job.agent.exit_code if job.agent is not None else None
        never_heard = job.sequence == 0 and code is not None and code > 0
        was_idle = job.pending and not job.directive.slots and not job.ended
        job.agent, job.leaving, job.kill_at_s = None, False, None
        if was_idle:
            return  # the next agent can be started now
        if never_heard and job.where.result() is None and isinstance(job.wanted, RunJob):
            message = f"its agent could not be started (exit code {code}): see {job.where.log_file}"
            self._end(job, last_word(job, message))
            del self._jobs[job.job_id]
        else:
            self._conclude(job, "its agent was lost")

    def _conclude(self, job: LocalJob, message: str) -> None:
        """Nothing of this job is alive: it has ended, or it is stopped."""
        result = job.where.result()
        cancelled = isinstance(job.wanted, StopJob) and job.wanted.why is StopReason.CANCEL
        if result is not None or job.ended or cancelled:
            self._applied.pop(job.job_id, None)
        if result is not None and not job.ended:
            self._events += told(result) if result.sequence > job.sequence else ()
            self._end(job, result)
        elif isinstance(job.wanted, RunJob):
            self._say_stopped(job, job.wanted.generation, message)
        elif isinstance(job.wanted, StopJob):
            self._say_stopped(job, job.wanted.generation, "")
        self._jobs.pop(job.job_id, None)

    def _end_processes(self, job: LocalJob, until_s: float) -> None:
        if job.agent is not None:
            job.agent.kill()
        while not job.sweep() and time.monotonic() < until_s:
            time.sleep(0.01)
        self._keep(job, ())
