"""The table of moves: complete, without a trap, and final at its ends."""

from itertools import product

import pytest

from headway.core.control.lifecycle import ENDS, MOVES, Phase, move
from headway.core.errors import IllegalMoveError
from headway.core.ids import JobId

JOB = JobId("digits")
ALIVE = [phase for phase in Phase if not phase.ended]


@pytest.mark.parametrize(("now", "to"), list(product(Phase, Phase)))
def test_a_move_is_in_the_table_or_is_refused_by_name(now: Phase, to: Phase) -> None:
    if to in MOVES[now]:
        assert move(JOB, now, to) is to
    else:
        with pytest.raises(IllegalMoveError, match=f"digits is {now} and cannot become {to}"):
            move(JOB, now, to)


@pytest.mark.parametrize("phase", Phase)
def test_the_table_knows_every_phase_and_ends_are_final(phase: Phase) -> None:
    assert (MOVES[phase] == frozenset()) == phase.ended
    assert not (phase.ended and phase.holds)


@pytest.mark.parametrize("phase", ALIVE)
def test_from_anywhere_a_job_can_end_in_every_way_or_run_again(phase: Phase) -> None:
    assert MOVES[phase] >= ENDS
    reached, frontier = {phase}, [phase]
    while frontier:
        for to in MOVES[frontier.pop()] - reached:
            reached.add(to)
            frontier.append(to)
    assert Phase.RUNNING in reached


def test_a_job_never_runs_without_starting() -> None:
    """RUNNING means that the workers of the current generation have made a step."""
    assert [phase for phase in Phase if Phase.RUNNING in MOVES[phase]] == [Phase.STARTING]
