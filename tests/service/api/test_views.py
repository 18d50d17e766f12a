"""What the API shows of one job, from what is kept of it."""

import pytest

from headway.core.control.lifecycle import Phase
from headway.core.control.state import JobState
from headway.service.api.views import summary
from headway.service.reads import JobRecord
from headway.testing.stores import report, spec


@pytest.mark.parametrize(
    ("phase", "share"),
    [(Phase.RUNNING, None), (Phase.FAILED, None), (Phase.FINISHED, 1.0)],
)
def test_a_job_that_has_finished_is_done(phase: Phase, share: float | None) -> None:
    """It was shown as done to 92 % for good: as far as its last report, which comes before."""
    record = JobRecord(job=JobState(spec=spec()), phase=phase, report=report(92.0))
    shown = summary(record, 0.0)
    assert (shown.progress_share, shown.progress_examples) == (share, 92.0)
