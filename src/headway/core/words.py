"""Numbers as people say them: so many of something, and how long."""

FAR_S = 1_000 * 365.25 * 86_400.0  # beyond that nobody wants to know when
UNITS = ((86_400.0, "d"), (3_600.0, "h"), (60.0, "min"))
SYMBOLS = frozenset({"GB"})  # units that have no plural


def number(value: float) -> str:
    """A figure: 0.75, 12, 1,234; also of what is no number."""
    return f"{value:.3g}" if abs(value) < 100 and value % 1 else f"{value:,.0f}"


def counted(count: float, unit: str) -> str:
    """So many: 1 CPU, 2 CPUs, 64 GB, 1.5 CPUs."""
    shown = f"{count:,g}" if count % 1 else f"{count:,.0f}"
    return f"{shown} {unit}{'' if count == 1 or unit in SYMBOLS else 's'}"


def span(seconds: float) -> str:
    """A duration: 35 min, 2.5 h."""
    if seconds > FAR_S:
        return "over 1,000 years"
    for unit_s, name in UNITS:
        if seconds >= 2 * unit_s:
            count = seconds / unit_s
            return f"{count:.0f} {name}" if count >= 10 or name == "min" else f"{count:.1f} {name}"
    return f"{max(seconds, 0.0):.0f} s"
