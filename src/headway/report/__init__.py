"""Event logs to tables."""

from headway.report.comparison import Entry, comparison, fairness, markdown_report
from headway.report.jobs import jobs_csv
from headway.report.table import Table
from headway.report.usage import Usage

__all__ = ["Entry", "Table", "Usage", "comparison", "fairness", "jobs_csv", "markdown_report"]
