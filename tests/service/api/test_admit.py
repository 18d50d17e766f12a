"""What a job as its owner wrote it becomes, where the owner left something open."""

from dataclasses import replace
from pathlib import Path

import pytest

from headway.core.errors import InvalidInputError
from headway.core.ids import JobId
from headway.core.types import JobSpec, Node
from headway.service.api.admit import admit
from headway.service.api.schemas import JobRequest
from headway.testing.snapshots import nodes

ELASTIC = "import headway.agent as headway\njob = headway.attach()\n"
PLAIN = "print('train')\n"


def admitted(
    folder: Path, text: str, cluster: tuple[Node, ...] = nodes(4), **fields: object
) -> JobSpec:
    (folder / "train.py").write_text(text)
    asked = {"run": "python train.py", "workdir": str(folder), **fields}
    return admit(JobRequest.model_validate(asked), JobId("train"), 0.0, cluster)


@pytest.mark.parametrize(
    ("text", "asked", "may_be_stopped"),
    [(ELASTIC, None, True), (PLAIN, None, False), (PLAIN, True, True), (ELASTIC, False, False)],
)
def test_what_cannot_go_on_later_is_not_stopped_unless_asked(
    tmp_path: Path, text: str, asked: bool | None, may_be_stopped: bool
) -> None:
    """A plain script on two GPUs was stopped after five seconds and began again from nothing."""
    spec = admitted(tmp_path, text, batch=32, preemptible=asked)
    assert spec.preemptible is may_be_stopped


def test_a_script_that_uses_headway_must_say_its_batch(tmp_path: Path) -> None:
    """It was taken for 1, and the job failed half a minute after it was accepted."""
    with pytest.raises(InvalidInputError, match=r"batch: is missing.*--batch 32"):
        admitted(tmp_path, ELASTIC)
    assert admitted(tmp_path, ELASTIC, batch=32).batch.initial_batch_size == 32
    assert admitted(tmp_path, PLAIN).batch.initial_batch_size == 1


def test_a_job_gets_the_most_gpus_that_come_with_all_that_it_asks_for(tmp_path: Path) -> None:
    cluster = (replace(nodes(4)[0], cpus=8.0, memory_gb=64.0),)
    spec = admitted(
        tmp_path, PLAIN, cluster, gpus="1-4", cpus_per_gpu=4, memory_gb_per_gpu=16, batch=32
    )
    assert (spec.cpus_per_gpu, spec.memory_gb_per_gpu, spec.requested_gpus) == (4.0, 16.0, 2)
    assert admitted(tmp_path, PLAIN, cluster, gpus="1-4", batch=32).requested_gpus == 4


def test_a_job_that_can_never_fit_is_told_which_field_to_mend(tmp_path: Path) -> None:
    cluster = (replace(nodes(4)[0], cpus=8.0, memory_gb=64.0),)
    with pytest.raises(InvalidInputError) as error:
        admitted(tmp_path, PLAIN, cluster, gpus=2, cpus_per_gpu=2, memory_gb_per_gpu=48)
    assert str(error.value) == (
        "memory_gb_per_gpu: the job needs 2 GPUs with 2 CPUs and 48 GB each and the cluster has "
        "room for 1 of these; ask for less"
    )


@pytest.mark.parametrize("field", ["cpus_per_gpu", "memory_gb_per_gpu", "weight", "work"])
def test_a_truth_value_is_no_number(tmp_path: Path, field: str) -> None:
    """``memory_gb_per_gpu: yes`` in a job file was a GB beside each GPU."""
    with pytest.raises(ValueError, match="must be a number, not true"):
        JobRequest.model_validate({"run": "true", "workdir": str(tmp_path), field: True})
