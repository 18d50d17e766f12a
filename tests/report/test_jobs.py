"""The per-job table can be read back without a loss."""

import csv
from dataclasses import fields

from hypothesis import given

from headway.core.metrics import JobOutcome, per_job
from headway.report.jobs import COLUMNS, jobs_csv
from headway.testing.histories import History, histories


@given(histories())
def test_every_job_has_a_row_and_every_value_comes_back(history: History) -> None:
    outcomes = per_job(history.log)
    text = jobs_csv(outcomes)
    rows = list(csv.DictReader(text.splitlines(keepends=True)))
    assert len(rows) == len(outcomes)
    for row, outcome in zip(rows, outcomes, strict=True):
        for field in fields(JobOutcome):
            value = getattr(outcome, field.name)
            read = row[field.name]
            assert (None if read == "" and value is None else type(value)(read)) == value


def test_without_a_job_there_is_a_header() -> None:
    assert jobs_csv([]) == ",".join(COLUMNS) + "\n"
    assert COLUMNS[:3] == ("job_id", "name", "submitted_s")
