"""``jobs.csv``: how every job of a run fared, one row each, for spreadsheets and notebooks."""

import csv
import io
from collections.abc import Iterable
from dataclasses import astuple, fields

from headway.core.metrics import JobOutcome

COLUMNS = tuple(field.name for field in fields(JobOutcome))


def jobs_csv(outcomes: Iterable[JobOutcome]) -> str:
    """A header and a row for each job; what is not known is empty, floats keep all their digits."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(astuple(outcome) for outcome in outcomes)
    return text.getvalue()
