"""Keys: an engine applies each once, so equal keys must mean the same wanted state."""

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from headway.core.control.commands import Command, RunJob, ScaleCluster, StopJob, StopReason
from headway.core.ids import JobId
from headway.core.types import Allocation, JobSpec
from headway.testing.strategies import allocations, job_specs


@given(job_specs(), allocations(), st.integers(0, 99), st.integers(1, 9))
def test_a_key_names_the_job_the_generation_and_what_is_asked(
    spec: JobSpec, allocation: Allocation, generation: int, later: int
) -> None:
    def all_commands(of: int) -> list[Command]:
        run = RunJob(job=spec, allocation=allocation, generation=of, adapts=False)
        return [run, *(StopJob(job_id=spec.job_id, generation=of, why=why) for why in StopReason)]

    commands = all_commands(generation) + all_commands(generation + later)
    commands.append(StopJob(job_id=JobId("another"), generation=generation, why=StopReason.YIELD))
    commands += [ScaleCluster(nodes=2, leaving=(), generation=of) for of in (0, generation + 100)]
    assert all(one.key != other.key for one, other in combinations(commands, 2))
    assert [command.key for command in all_commands(generation)] == [
        f"{spec.job_id}/{generation}/{word}" for word in ("run", "yield", "cancel")
    ]
