"""Error of the forecast of remaining run time against the published predictor and two others."""

from collections.abc import Sequence
from pathlib import Path

from benchmarks.results.command import DATA, script
from benchmarks.results.figures import Figure, Results, Section, at_most, percent

SHARES = ("0", "0.1", "0.25", "0.5", "0.75", "0.9")
PUBLISHED = (0.124, 0.151, 0.206, 0.264, 0.314, 0.386)
ASKED = (0.094, 0.101, 0.134, 0.039, 0.014, 0.021)
RUN = script("forecast", "--data", DATA)
ABOUT = """
Mean |forecast − truth| / truth of the run time that is left, after a share of the epochs, of the
650 jobs on the three traces whose batch size changes. Asked is the best of three yardsticks in each
column. The prior is learned from what other jobs of the same trace have shown by that moment.
"""


def forecasts(data: Path) -> Section:
    """Six columns."""
    return Section(
        key="forecasts",
        title="Error of the forecast",
        about=ABOUT,
        commands=(RUN,),
        figures=_figures,
    )


def _figures(results: Results) -> Sequence[Figure]:
    return [
        Figure(
            what=f"after {100 * float(share):g} % of the epochs",
            unit=percent,
            measured=_error(results, share),
            published=published,
            reach=at_most(asked),
        )
        for share, published, asked in zip(SHARES, PUBLISHED, ASKED, strict=True)
    ]


def _error(results: Results, share: str) -> float | None:
    record = results.get(RUN)
    if record is None:
        return None
    errors: list[float] = record.answer["forecast"]["seen"]["error"]
    return errors[SHARES.index(share)]
