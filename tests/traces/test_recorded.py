"""A window of a recording: whose jobs, from when to when."""

import pytest

from headway.core.errors import InvalidInputError
from headway.traces.recorded import Recorded, Recording, Window


def recording(*jobs: tuple[str, float, str]) -> Recording:
    made = [
        Recorded(name=name, submitted_s=at_s, duration_s=60.0, gpus=1, tenant=tenant)
        for name, at_s, tenant in jobs
    ]
    return Recording(name="some", jobs=tuple(made))


SOME = recording(("late", 7200.0, "a"), ("b", 3600.0, "b"), ("a", 3600.0, "a"), ("early", 1.0, "a"))


def test_a_window_begins_with_its_first_hour_and_ends_before_its_last() -> None:
    cut = Window(from_h=1.0, hours=1.0).cut(SOME)
    assert [(job.name, job.submitted_s) for job in cut.jobs] == [("a", 0.0), ("b", 0.0)]


def test_by_default_all_jobs_in_order_of_submission() -> None:
    assert [job.name for job in Window().cut(SOME).jobs] == ["early", "a", "b", "late"]


def test_one_tenant() -> None:
    cut = Window(tenant="a", from_h=1.0).cut(SOME)
    assert [(job.name, job.submitted_s) for job in cut.jobs] == [("a", 0.0), ("late", 3600.0)]


@pytest.mark.parametrize(
    ("window", "said"),
    [
        (Window(from_h=5.0, hours=2.0), r"the 2 hours from hour 5 on; choose another --from-h"),
        (Window(tenant="c"), r"--tenant 'c' has no job; there are a, b"),
        (Window(tenant="b", from_h=2.0), r"is submitted from hour 2 on"),
    ],
)
def test_an_empty_window_says_why(window: Window, said: str) -> None:
    with pytest.raises(InvalidInputError, match=said):
        window.cut(SOME)
