"""What a job as its owner wrote it becomes, where the owner left something open."""

from pathlib import Path

import pytest

from headway.core.errors import InvalidInputError
from headway.core.ids import JobId
from headway.core.types import JobSpec
from headway.service.api.admit import admit
from headway.service.api.schemas import JobRequest

ELASTIC = "import headway.agent as headway\njob = headway.attach()\n"
PLAIN = "print('train')\n"


def admitted(folder: Path, text: str, **fields: object) -> JobSpec:
    (folder / "train.py").write_text(text)
    asked = {"run": "python train.py", "workdir": str(folder), **fields}
    return admit(JobRequest.model_validate(asked), JobId("train"), 0.0, cluster_gpus=4)


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
