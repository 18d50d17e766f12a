"""Policies side by side: the table for people, and the report that lies beside the logs."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from headway.core.metrics import Summary, TenantOutcome
from headway.report.table import Table, number, signed
from headway.report.usage import WIDTH, Usage

HOUR_S = 3600.0
POLICY = "policy"
Figure = Callable[[Summary], float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One policy's part of a report."""

    policy: str
    summary: Summary
    usage: Usage
    tenants: tuple[TenantOutcome, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A figure of a summary: its heading, how to show it, and which of two is the better."""

    title: str
    of: Figure
    digits: int = 0
    better: Callable[[Iterable[float]], float] = min


COLUMNS = (
    Column(title="finished", of=lambda summary: summary.finished, better=max),
    Column(title="avg JCT s", of=lambda summary: summary.avg_jct_s),
    Column(title="p50 s", of=lambda summary: summary.p50_jct_s),
    Column(title="p99 s", of=lambda summary: summary.p99_jct_s),
    Column(title="makespan s", of=lambda summary: summary.makespan_s),
    Column(title="queueing s", of=lambda summary: summary.avg_queueing_s),
    Column(title="worst rho", of=lambda summary: summary.worst_rho, digits=2),
    Column(title="unfair", of=lambda summary: summary.unfair_fraction, digits=2),
    Column(title="GPUs used", of=lambda summary: summary.utilisation, digits=2, better=max),
    Column(title="restarts", of=lambda summary: summary.restarts),
    Column(title="GPU-h", of=lambda summary: summary.gpu_hours),
    Column(title="node-h", of=lambda summary: summary.node_hours),
)
READINGS = (  # suffix of the summary's fields, and what the run is held against
    ("", "fluid egalitarian cluster"),
    ("_own", "own contention, by GPUs wanted"),
    ("_jobs", "own contention, by jobs"),
    ("_static", "jobs of the whole workload"),
)


def comparison(summaries: Mapping[str, Summary]) -> Table:
    """One row for each policy."""
    rows = (
        (policy, *(number(column.of(summary), column.digits) for column in COLUMNS))
        for policy, summary in summaries.items()
    )
    titles = tuple(column.title for column in COLUMNS)
    return Table((POLICY, *titles), tuple(rows), right=frozenset(titles))


def fairness(summaries: Mapping[str, Summary]) -> Table:
    """Finish-time fairness in its four readings; one row for each policy and reading."""
    titles = ("worst", "mean", "p95", "unfair")
    rows = (
        (policy, against, *(number(value, 2) for value in _readings(summary, suffix)))
        for policy, summary in summaries.items()
        for suffix, against in READINGS
    )
    return Table((POLICY, "held against", *titles), tuple(rows), right=frozenset(titles))


def markdown_report(facts: Mapping[str, str], entries: Sequence[Entry]) -> str:
    """A page about one workload under some policies; ``facts`` say what was run, and how."""
    summaries = {entry.policy: entry.summary for entry in entries}
    marked = _marked(comparison(summaries), summaries)
    parts = [
        f"# {', '.join(summaries)}",
        "\n".join(f"- {name}: {value}" for name, value in facts.items()),
        "## Side by side",
        marked.markdown(),
        "JCT is completion minus submission, averaged over finished jobs; makespan is the last "
        "completion. The best of each column is bold.",
        "## Fairness",
        fairness(summaries).markdown(),
        "Rho is a job's time over the time it would have had in the world it is held against; "
        "above 1 (for the last reading 1.05) it was treated unfairly.",
        *_ledgers(entries),
        "## GPUs held over time",
        _charts(entries),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def ledger(entries: Sequence[Entry]) -> Table:
    """Who is ahead and behind; one row for each policy and tenant."""
    titles = ("jobs", "avg JCT s", "GPU-h held", "GPU-h share", "GPU-h ahead")
    rows = (
        (
            entry.policy,
            one.tenant,
            number(one.jobs),
            number(one.avg_jct_s),
            number(one.gpu_hours, 1),
            number(one.entitled_gpu_hours, 1),
            signed(one.ahead_gpu_hours, 1),
        )
        for entry in entries
        for one in entry.tenants
    )
    return Table((POLICY, "tenant", *titles), tuple(rows), right=frozenset(titles))


def _ledgers(entries: Sequence[Entry]) -> list[str]:
    """Nothing where nobody has to share."""
    if all(len(entry.tenants) < 2 for entry in entries):
        return []
    return [
        "## Tenants",
        ledger(entries).markdown(),
        "A tenant's share is what it was entitled to while its jobs were active: by its weight, or "
        "job by job without weights, and no more than its jobs can use. Negative: it is behind.",
    ]


def _readings(summary: Summary, suffix: str) -> tuple[float | None, ...]:
    names = ("worst_rho", "mean_rho", "p95_rho", "unfair_fraction")
    return tuple(getattr(summary, f"{name}{suffix}") for name in names)


def _marked(table: Table, summaries: Mapping[str, Summary]) -> Table:
    """The same table with the best of each column in bold; as shown, so ties are all best."""
    if len(table.rows) < 2:
        return table
    columns = [_bold(column, summaries.values()) for column in COLUMNS]
    policies = (row[0] for row in table.rows)
    return Table(table.columns, tuple(zip(policies, *columns, strict=True)), table.right)


def _bold(column: Column, summaries: Iterable[Summary]) -> list[str]:
    values = [column.of(summary) for summary in summaries]
    known = [value for value in values if value is not None]
    best = number(column.better(known), column.digits) if known else None
    shown = [number(value, column.digits) for value in values]
    return [f"**{text}**" if text == best else text for text in shown]


def _charts(entries: Sequence[Entry]) -> str:
    """One line for each policy, all on the same axis of time."""
    until_s = max((entry.usage.length_s for entry in entries), default=0.0)
    room = max((len(entry.policy) for entry in entries), default=0)
    lines = [f"{entry.policy:<{room}} |{entry.usage.chart(until_s)}|" for entry in entries]
    axis = f"{'':<{room}} 0 h{f'{until_s / HOUR_S:.1f} h':>{WIDTH - 1}}"
    return "\n".join(["```text", *lines, axis, "```"])
