"""Figures -> Markdown: the page that is written, and nothing that is typed by hand."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from benchmarks.results.command import Command
from benchmarks.results.figures import Figure, Results, Section, Table, Verdict
from benchmarks.results.run import Failure

COLUMNS = ("what", "measured", "published", "asked", "verdict")


def page(
    head: str, sections: Sequence[Section], results: Results, failed: Mapping[Command, Failure]
) -> str:
    """The whole page; sections that lack measurements say so."""
    shown = {section.key: section.figures(results) for section in sections}
    parts = [head.strip(), _overview(sections, shown)]
    for section in sections:
        parts += [f"## {section.title}", section.about.strip(), _commands(section.commands)]
        if shown[section.key]:
            parts.append(_figures(shown[section.key]))
        parts += [_detail(table) for table in section.tables(results) if table.rows]
        parts += _failures(section, failed)
    return "\n\n".join(part for part in parts if part) + "\n"


def _overview(sections: Sequence[Section], shown: Mapping[str, Sequence[Figure]]) -> str:
    columns = ("section", *(verdict.strip("*") for verdict in Verdict))
    rows = []
    for section in sections:
        counts = Counter(figure.verdict for figure in shown[section.key])
        link = f"[{section.title}](#{anchor(section.title)})"
        rows.append((link, *(str(counts[verdict] or "") for verdict in Verdict)))
    return _table(columns, rows)


def anchor(title: str) -> str:
    """What a heading is called in the address of a page."""
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", title.lower()).strip())


def _table(columns: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = list(columns)
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _figures(figures: Sequence[Figure]) -> str:
    """Without the column of published figures where none is published."""
    kept = [name for name in COLUMNS if name != "published" or any(f.published for f in figures)]
    at = [COLUMNS.index(name) for name in kept]
    return _table(kept, [[figure.cells[index] for index in at] for figure in figures])


def _detail(table: Table) -> str:
    return f"{table.title}:\n\n{_table(table.columns, table.rows)}"


def _commands(commands: Sequence[Command]) -> str:
    lines = "\n".join(braced(command.text for command in commands))
    return f"```text\n{lines}\n```" if lines else ""


def braced(commands: Iterable[str]) -> list[str]:
    """Commands as a shell would expand them: those that differ in one part share a line."""
    found = [tuple(re.split(r"([ /])", command)) for command in dict.fromkeys(commands)]
    for index in range(max(map(len, found), default=0)):
        groups: dict[tuple[str, ...], list[str]] = defaultdict(list)
        for parts in found:
            rest = (*parts[:index], "", *parts[index + 1 :])
            groups[rest].append(parts[index] if index < len(parts) else "")
        found = [
            (*rest[:index], _brace(alike), *rest[index + 1 :]) for rest, alike in groups.items()
        ]
    return ["".join(parts) for parts in found]


def _brace(parts: Sequence[str]) -> str:
    """``a-1.csv a-2.csv`` as ``a-{1,2}.csv``; words and numbers stay whole."""
    if len(parts) == 1:
        return parts[0]
    start = re.sub(r"[^-=]*$", "", _common(parts))
    ends = _common([part[::-1] for part in parts])[::-1]
    end = max(re.findall(r"\.[a-z]+$", ends), default="")
    middles = [part[len(start) : len(part) - len(end)] for part in parts]
    return f"{start}{{{','.join(middles)}}}{end}"


def _common(words: Sequence[str]) -> str:
    """The longest beginning that all share."""
    first, last = min(words), max(words)
    for index, letter in enumerate(first):
        if letter != last[index]:
            return first[:index]
    return first


def _failures(section: Section, failed: Mapping[Command, Failure]) -> list[str]:
    why = {failed[command].why: command.text for command in section.commands if command in failed}
    return [f"Not measured: `{text}`: {reason}" for reason, text in why.items()]
