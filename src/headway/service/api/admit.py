"""From a job as its owner wrote it to a job of the core, or to one line that says what to mend."""

import os
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from headway.core.errors import InvalidInputError
from headway.core.ids import JobId
from headway.core.model.schedule import first_batch_size, known_sizes, most_for_fewest
from headway.core.policy.needs import beyond_room, room_for, scarcest
from headway.core.types import BatchContract, GpuBounds, JobSpec, Launch, Node, widest
from headway.core.words import counted
from headway.service.api.contract import contract_of
from headway.service.api.schemas import JobRequest


def admit(request: JobRequest, job_id: JobId, now_s: float, nodes: Sequence[Node]) -> JobSpec:
    """The job, if it can be run here.

    Raises:
        InvalidInputError: it cannot; the message names the field and the fix.
    """
    gpus = _gpus(request, widest(nodes))
    usable = _usable(request, gpus, nodes)
    launch = _launch(request)
    attached = _attached(launch)
    if attached and request.batch.initial is None and "-m" not in launch.command:
        raise InvalidInputError(
            "batch: is missing; give the batch size that the script hands to job.loader, "
            "as in --batch 32, or batch: 32 in a job file"
        )
    batch = _batch(request, gpus.smallest)
    return JobSpec(
        job_id=job_id,
        name=request.name,
        submitted_s=now_s,
        gpus=gpus,
        batch=batch,
        requested_gpus=_requested_gpus(request, usable),
        requested_batch_size=_requested_batch(request, batch),
        tenant=request.tenant,
        weight=request.weight,
        preemptible=attached if request.preemptible is None else request.preemptible,
        work_examples=request.work,
        launch=launch,
        cpus_per_gpu=request.cpus_per_gpu,
        memory_gb_per_gpu=request.memory_gb_per_gpu,
    )


def _gpus(request: JobRequest, cluster_gpus: int) -> GpuBounds:
    bounds = GpuBounds(
        min_gpus=request.gpus.min, max_gpus=request.gpus.most, sizes=request.gpus.counts()
    )
    if not bounds.allowed(cluster_gpus):
        raise InvalidInputError(
            f"gpus.min: the job needs {counted(bounds.smallest, 'GPU')} and the cluster has "
            f"{cluster_gpus}; ask for fewer"
        )
    return bounds


def _usable(request: JobRequest, gpus: GpuBounds, nodes: Sequence[Node]) -> tuple[int, ...]:
    """The sizes for which the cluster has enough of everything."""
    room = room_for(request, nodes)
    usable = gpus.allowed(room)
    if not usable:
        raise InvalidInputError(
            f"{scarcest(request, nodes)}: the job needs "
            f"{beyond_room(request, gpus.smallest, room)}; ask for less"
        )
    return usable


def _requested_gpus(request: JobRequest, usable: tuple[int, ...]) -> int:
    wanted = request.requested.gpus
    if wanted is None:
        return usable[-1]
    if wanted not in usable:
        fitting = ", ".join(map(str, usable[:8])) + (", ..." if len(usable) > 8 else "")
        raise InvalidInputError(
            f"requested.gpus: {wanted} is not among what gpus and the cluster allow; "
            f"ask for one of {fitting}"
        )
    return wanted


def _batch(request: JobRequest, fewest_gpus: int) -> BatchContract:
    given, gpus = request.batch, request.gpus
    contract = contract_of(given, gpus.most)
    most, most_at_all = known_sizes(contract)[1], most_for_fewest(contract)
    if most_at_all < fewest_gpus * given.min_per_gpu:
        field = "gpus.min" if gpus.sizes is None else "gpus.sizes"
        raise InvalidInputError(
            f"batch: {most_at_all} examples are too few for {field} {fewest_gpus} with "
            f"{given.min_per_gpu} each (batch.min_per_gpu); raise the batch or lower one of these"
        )
    room = gpus.most * contract.max_batch_per_gpu * (given.max_accum_steps + 1)
    if most > room:
        field = "schedule" if contract.schedule else "replay" if contract.replay else "initial"
        raise InvalidInputError(
            f"batch.{field}: {most} examples do not fit gpus.max {gpus.most}, "
            f"batch.max_per_gpu {contract.max_batch_per_gpu} and max_accum_steps "
            f"{given.max_accum_steps}; raise one of these"
        )
    return contract


def _requested_batch(request: JobRequest, batch: BatchContract) -> int:
    wanted = request.requested.batch
    if batch.follows:
        if wanted is not None:
            raise InvalidInputError(
                "requested.batch: the batch follows its schedule, rule or log; drop it"
            )
        return first_batch_size(batch)
    if wanted is None:
        return batch.initial_batch_size
    if not batch.initial_batch_size <= wanted <= batch.max_batch_size:
        raise InvalidInputError(
            f"requested.batch: {wanted} is outside batch.initial {batch.initial_batch_size} to "
            f"batch.max {batch.max_batch_size}; choose one between"
        )
    return wanted


def _launch(request: JobRequest) -> Launch:
    workdir = Path(request.workdir)
    if not workdir.is_absolute():
        raise InvalidInputError(f"workdir: {workdir} is no absolute path; begin it with /")
    if not os.path.isdir(workdir):  # False for a name too long, where Path.is_dir() raises
        raise InvalidInputError(f"workdir: there is no folder {workdir}; name one that exists")
    command = _command(request)
    program = _program(command[0], workdir, request.env)
    if program is None:
        raise InvalidInputError(
            f"run: there is no program {command[0]!r}; give its full path, or set PATH in env"
        )
    _script_is_there("script" if request.script is not None else "run", command, workdir)
    return Launch(command=(program, *command[1:]), workdir=str(workdir), env=dict(request.env))


def _attached(launch: Launch) -> bool:
    """Whether the job can yield and go on: its script names Headway. A module is believed to."""
    if "-m" in launch.command:
        return True
    scripts = (Path(launch.workdir, word) for word in launch.command if word.endswith(".py"))
    script = next(scripts, None)
    return script is not None and b"headway" in script.read_bytes()


def _script_is_there(field: str, command: Sequence[str], workdir: Path) -> None:
    """A module (-m) or a line of code (-c) has no file to look for."""
    for word in command[1:]:
        if word in {"-m", "-c"}:
            return
        if word.endswith((".py", ".sh")):
            if not os.path.isfile(workdir / word):
                raise InvalidInputError(
                    f"{field}: there is no file {word} in {workdir}; name one that exists"
                )
            return


def _command(request: JobRequest) -> list[str]:
    if request.script is not None:
        return [sys.executable, request.script]
    if isinstance(request.run, list):
        return request.run
    try:
        words = shlex.split(request.run or "")
    except ValueError as error:
        raise InvalidInputError(f"run: {error}; quote it as for a shell") from None
    if not words:
        raise InvalidInputError("run: is empty; give a command, as in run: python train.py")
    return words


def _program(name: str, workdir: Path, env: Mapping[str, str]) -> str | None:
    """The full path, so that a worker need not search where its owner would not."""
    if name.endswith(".py") and os.path.isfile(workdir / name):
        return name
    if "/" in name:
        path = workdir / name
        return str(path) if os.path.isfile(path) and os.access(path, os.X_OK) else None
    found = shutil.which(name, path=env.get("PATH", os.environ.get("PATH")))
    ours = Path(sys.executable)
    if found and name.startswith("python") and Path(found).parent == ours.parent:
        return sys.executable if Path(found).samefile(ours) else found
    return found
