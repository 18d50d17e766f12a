"""The directory of a job."""

from pathlib import Path

import pytest

from headway.core.errors import InvalidInputError
from headway.protocol.jobdir import AgentRecord, JobDir, SlotRecord
from headway.protocol.messages import AgentPhase, AgentReport, EpochCount


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    where = JobDir(tmp_path)
    agent = AgentRecord(pid=7, started_s=1.5)
    slots = SlotRecord(generation=3, slots=(0, 2), adapts=True, held=(0, 1, 2))
    epoch = EpochCount(epoch=1, samples=4, read_least=1, read_most=1)
    result = AgentReport(job_id="a", phase=AgentPhase.FINISHED, generation=3, epochs=(epoch,))
    where.write_agent(agent)
    where.write_slots(slots)
    where.write_result(result)
    assert (where.agent(), where.slots(), where.result()) == (agent, slots, result)
    assert {file.name for file in tmp_path.iterdir()} == {"agent.json", "slots.json", "result.json"}


def test_what_is_not_there_is_none(tmp_path: Path) -> None:
    where = JobDir(tmp_path / "nobody")
    assert (where.agent(), where.slots(), where.result(), where.job()) == (None,) * 4


def test_a_foreign_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "agent.json").write_text("{}")
    with pytest.raises(InvalidInputError, match=r"agent\.json"):
        JobDir(tmp_path).agent()
