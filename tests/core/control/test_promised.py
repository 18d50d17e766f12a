"""What a reason promises, and when another one is news."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from headway.core.control.promised import Basis, Promised, has_moved
from headway.core.ids import JobId
from headway.core.types import Reason, ReasonCode

TIMES_S = st.floats(1.0, 1e8)


def reason(finish_s: float, egalitarian_s: float = 2_000.0, error_s: float = 50.0) -> Reason:
    numbers = {
        "rho_hat": finish_s / egalitarian_s,
        "egalitarian_s": egalitarian_s,
        "finish_s": finish_s,
        "finish_error_s": error_s,
    }
    return Reason(job_id=JobId("a"), code=ReasonCode.KEPT, numbers=tuple(numbers.items()))


NONE = Reason(job_id=JobId("a"), code=ReasonCode.KEPT, numbers=(("rho_hat", 1.5),))


def test_a_promise_is_read_from_the_numbers_of_a_reason() -> None:
    assert Promised.of(reason(1_800.0)) == Promised(
        egalitarian_s=2_000.0, finish_s=1_800.0, finish_error_s=50.0
    )


def test_what_it_rests_on_is_read_too() -> None:
    guessed = replace(reason(1.0), numbers=(*reason(1.0).numbers, ("guess", 1.0)))
    known = replace(reason(1.0), numbers=(*reason(1.0).numbers, ("guess", 0.0)))
    told = [Promised.of(one) for one in (guessed, known, reason(1.0))]
    assert [one and one.basis for one in told] == [Basis.GUESS, Basis.MEASURED, Basis.MEASURED]


def test_a_policy_that_gives_only_rho_hat_predicts_no_finish() -> None:
    assert Promised.of(NONE) is None


class TestHasMoved:
    def test_by_more_than_a_tenth_of_the_time_left(self) -> None:
        """1,000 s are left, so 100 s are the least that is worth a line."""
        for finish_s, moved in ((2_000.0, False), (2_090.0, False), (1_890.0, True)):
            now = reason(2_000.0)
            assert has_moved(reason(finish_s), now, age_s=1_000.0, round_s=60.0) is moved

    def test_never_by_less_than_a_round(self) -> None:
        assert not has_moved(reason(2_059.0), reason(2_000.0), age_s=1_999.0, round_s=60.0)
        assert has_moved(reason(2_061.0), reason(2_000.0), age_s=1_999.0, round_s=60.0)

    def test_by_its_egalitarian_time_alone(self) -> None:
        before, now = reason(2_000.0, 2_000.0), reason(2_000.0, 2_500.0)
        assert has_moved(before, now, age_s=1_000.0, round_s=60.0)

    def test_a_guess_that_came_true_is_news(self) -> None:
        """It would have been shown as a guess for as long as the promise did not move."""
        guessed = replace(reason(1.0), numbers=(*reason(1.0).numbers, ("guess", 1.0)))
        assert has_moved(guessed, reason(1.0), age_s=0.0, round_s=1e9)
        assert not has_moved(guessed, guessed, age_s=0.0, round_s=1e9)

    def test_where_there_was_none_and_not_where_there_is_none(self) -> None:
        assert has_moved(NONE, reason(1.0), age_s=0.0, round_s=1e9)
        assert not has_moved(reason(1.0), NONE, age_s=0.0, round_s=0.0)


@given(TIMES_S, TIMES_S, TIMES_S, st.floats(0.0, 1e4))
def test_what_was_just_told_is_no_news(
    finish_s: float, egalitarian_s: float, age_s: float, round_s: float
) -> None:
    told = reason(finish_s, egalitarian_s)
    assert not has_moved(told, told, age_s=age_s, round_s=round_s)
