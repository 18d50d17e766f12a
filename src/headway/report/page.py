"""One self-contained HTML page about a comparison: no script, no font, nothing from elsewhere."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from headway.core.metrics import JobOutcome, Summary
from headway.report.course import Course
from headway.report.figures import Group, cluster_charts, jct_chart, job_charts, rho_chart
from headway.report.spread import FEW, READING, Row, fairness_over_seeds, over_seeds
from headway.report.svg import SERIES

LIGHT = ("#0b63c4", "#c8500a", "#16803c", "#8a3ffc", "#a16207", "#0e7490", "#be185d", "#525b66")
DARK = ("#6cb2ff", "#ff9e5e", "#5fd38a", "#c4a1ff", "#e6c04d", "#5ccfe6", "#ff8ec3", "#b4bdc8")
DASHES = ("none", "7 3", "2 2.5", "9 3 2 3", "12 4", "4 4", "1 3", "6 2 1 2")
STYLE = """
:root { color-scheme: light dark;
  --ink: #1c2127; --paper: #fff; --faint: #59636e; --rule: #dfe3e8; %s }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e9ed; --paper: #14181d; --faint: #9aa5b1; --rule: #313841; %s }
}
body { margin: 0 auto; max-width: 60rem; padding: 1.5rem 1.25rem 4rem; background: var(--paper);
  color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; margin: 0 0 .5rem; } h2 { font-size: 1.2rem; margin: 2.5rem 0 .5rem; }
p { margin: .4rem 0; max-width: 46rem; } .faint { color: var(--faint); font-size: .9rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; margin: 1rem 0; }
dt { color: var(--faint); } dd { margin: 0; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .9rem .3rem 0; text-align: right; border-bottom: 1px solid var(--rule);
  white-space: nowrap; } td.best { font-weight: 700; } th { font-weight: 600; }
th:first-child { text-align: left; } tbody th { font-weight: 400; }
.charts { display: grid; gap: .75rem 1rem; } .two { grid-template-columns: 1fr 1fr; }
@media (max-width: 44rem) { .two { grid-template-columns: 1fr; } }
figure { margin: 0; } figcaption { font-size: .9rem; margin: .5rem 0 .1rem; }
.legend { display: flex; flex-wrap: wrap; gap: .2rem 1.4rem; list-style: none; padding: 0;
  margin: .6rem 0; } .legend svg { width: 2.2rem; height: .7rem; margin-right: .5rem; }
.charts svg { width: 100%%; height: auto; display: block; }
text { fill: var(--faint); font: 12px system-ui, sans-serif; } .two text { font-size: 15px; }
.grid { stroke: var(--rule); } .axis { stroke: var(--faint); }
.mark { stroke: var(--faint); stroke-dasharray: 3 3; fill: none; }
.line { fill: none; stroke-width: 2; stroke-linejoin: round; } .area { stroke: none; opacity: .22; }
.charts .alone .line { stroke-dasharray: none; stroke-width: 1.5; }
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fared:
    """How one policy fared: a summary for each seed, all jobs of all seeds, one run's course."""

    policy: str
    summaries: tuple[Summary, ...]
    jobs: tuple[JobOutcome, ...]
    course: Course  # of the first seed


def page(facts: Mapping[str, str], policies: Sequence[Fared], notes: Sequence[str] = ()) -> str:
    """The whole document. Equal arguments give equal text."""
    names = [fared.policy for fared in policies]
    title = escape(f"{', '.join(names)} compared")
    summaries = {fared.policy: fared.summaries for fared in policies}
    runs = max(len(fared.summaries) for fared in policies)
    parts = [
        f"<h1>{title}</h1>",
        _facts(facts),
        *(f'<p class="faint">{escape(note)}</p>' for note in notes),
        "<h2>Side by side</h2>",
        _table(names, over_seeds(summaries)),
        f'<p class="faint">{escape(how_shown(runs, len(names)))}</p>',
        *_groups(policies, names),
        "<h2>Four readings of fairness</h2>",
        "<p>Rho is a job's time over the time it would have had in the world it is held against; "
        "above 1 (for the last reading 1.05) it was treated unfairly.</p>",
        _table(names, fairness_over_seeds(summaries)),
    ]
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>{title}</title><style>{_style()}</style>"
    )
    body = "\n".join(parts)
    return f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head>\n<body>\n{body}\n</body></html>\n'


def how_shown(runs: int, policies: int) -> str:
    """What the figures of a table over seeds mean."""
    spread = {1: "One seed: no spread."}.get(
        runs,
        f"Least–most of {runs} seeds."
        if runs < FEW
        else f"Mean ± standard error over {runs} seeds.",
    )
    best = " The best mean of each row is marked." if policies > 1 else ""
    return f"{spread}{best} Rho and unfair are against the {READING}."


def _groups(policies: Sequence[Fared], names: Sequence[str]) -> list[str]:
    outcomes = {fared.policy: fared.jobs for fared in policies}
    courses = {fared.policy: fared.course for fared in policies}
    groups = (
        jct_chart(outcomes),
        rho_chart(outcomes),
        cluster_charts(courses),
        job_charts(courses),
    )
    return [_group(group, f"g{index}", names) for index, group in enumerate(groups)]


def _group(group: Group, name: str, policies: Sequence[str]) -> str:
    shape = "charts" + (" two" if group.columns > 1 else "")
    inner = "" if group.legend else ' class="alone"'
    several = len(group.charts) > 1  # then each says which one it is
    charts = [
        f"<figure{inner}>{f'<figcaption>{escape(chart.title)}</figcaption>' if several else ''}"
        f"{chart.svg(f'{name}-{index}')}</figure>"
        for index, chart in enumerate(group.charts)
    ]
    return "\n".join(
        [
            f"<section><h2>{escape(group.title)}</h2>",
            f"<p>{escape(group.about)}</p>",
            _legend(policies) if group.legend else "",
            f'<div class="{shape}">',
            *charts,
            "</div></section>",
        ]
    )


def _legend(policies: Sequence[str]) -> str:
    keys = [
        f'<li><svg viewBox="0 0 36 10" aria-hidden="true"><path class="line s{index % SERIES}" '
        f'd="M0 5H36"/></svg>{escape(policy)}</li>'
        for index, policy in enumerate(policies)
    ]
    return f'<ul class="legend">{"".join(keys)}</ul>'


def _facts(facts: Mapping[str, str]) -> str:
    pairs = [f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in facts.items()]
    return f"<dl>{''.join(pairs)}</dl>"


def _table(policies: Sequence[str], rows: Sequence[Row]) -> str:
    head = "".join(f'<th scope="col">{escape(policy)}</th>' for policy in policies)
    lines = [
        f'<tr><th scope="row">{escape(row.title)}</th>'
        + "".join(
            f'<td class="best">{cell.text}</td>' if cell.best else f"<td>{cell.text}</td>"
            for cell in row.cells
        )
        + "</tr>"
        for row in rows
    ]
    return (
        f'<div class="wide"><table><thead><tr><th scope="col">policy</th>{head}</tr></thead>\n'
        f"<tbody>{''.join(lines)}</tbody></table></div>"
    )


def _style() -> str:
    light, dark = (
        " ".join(f"--s{index}: {colour};" for index, colour in enumerate(colours))
        for colours in (LIGHT, DARK)
    )
    series = [
        f".s{index} {{ stroke: var(--s{index}); stroke-dasharray: {dash}; }} "
        f".area.s{index} {{ fill: var(--s{index}); stroke: none; }}"
        for index, dash in enumerate(DASHES)
    ]
    return STYLE % (light, dark) + "\n".join(series) + "\n"
