"""Charts: where values lie on an axis, and that what is drawn is well-formed."""

from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.report.svg import LEFT, RIGHT, WIDTH, Axis, Chart, Line, stairs

SOMEWHERE = st.floats(1e-6, 1e9)


def axis(least: float, most: float, *, log: bool) -> Axis:
    return Axis(label="", least=least, most=most, log=log)


def test_the_middle_of_a_logarithmic_axis_is_the_geometric_mean() -> None:
    assert axis(1, 10_000, log=True).share(100) == pytest.approx(0.5)
    assert axis(0, 10_000, log=False).share(100) == pytest.approx(0.01)


@pytest.mark.parametrize(
    ("least", "most", "log", "ticks"),
    [
        (0, 64, False, (0, 20, 40, 60)),
        (0, 1, False, (0, 0.2, 0.4, 0.6, 0.8, 1)),
        (2.9, 3.3, False, (2.9, 3.0, 3.1, 3.2, 3.3)),
        (80, 600, True, (100, 200, 500)),
        (1, 1e6, True, (1, 10, 100, 1e3, 1e4, 1e5, 1e6)),
    ],
)
def test_ticks_are_round(least: float, most: float, log: bool, ticks: tuple[float, ...]) -> None:
    assert axis(least, most, log=log).ticks() == pytest.approx(ticks)


@given(SOMEWHERE, st.floats(1.01, 1e6), st.booleans())
def test_ticks_lie_on_their_axis_in_order_and_are_few(
    least: float, ratio: float, log: bool
) -> None:
    ticks = axis(least, least * ratio, log=log).ticks()
    assert list(ticks) == sorted(set(ticks))
    assert len(ticks) <= 15
    assert all(least * (1 - 1e-6) <= tick <= least * ratio * (1 + 1e-6) for tick in ticks)


@given(SOMEWHERE, st.floats(1.01, 1e6), SOMEWHERE, st.booleans())
def test_what_lies_beyond_an_axis_is_drawn_at_its_end(
    least: float, ratio: float, value: float, log: bool
) -> None:
    assert 0 <= axis(least, least * ratio, log=log).share(value) <= 1


def test_a_level_holds_until_the_next_one() -> None:
    assert stairs([(1, 5), (3, 2)], 4) == [(1, 5), (3, 5), (3, 2), (4, 2)]
    assert stairs([], 4) == []


def test_a_chart_is_well_formed_and_says_what_it_is() -> None:
    chart = Chart(
        title="A <title> & more",
        about="What can be seen",
        x=Axis(label="time (h)", least=0, most=2),
        y=Axis(label="share", least=0, most=100, unit=" %"),
        lines=[
            Line(points=[(0, 0), (2, 100)], series=9, filled=True),
            Line(points=[(1, 0), (1, 100)]),
            Line(points=[], series=2),
        ],
    )
    element = ElementTree.fromstring(chart.svg("g0"))
    assert element.attrib["aria-labelledby"] == "g0-title g0-about"
    assert [child.text for child in element[:2]] == ["A <title> & more", "What can be seen"]
    texts = [text.text for text in element.iter("text")]
    assert {"time (h)", "share", "100 %", "2"} <= set(texts)
    drawn = {path.attrib["class"]: path.attrib["d"] for path in element.iter("path")}
    assert {"line s1", "area s1", "mark"} <= drawn.keys()
    assert not any("s2" in name for name in drawn)
    assert drawn["line s1"] == f"M{LEFT:.1f} 236.0L{WIDTH - RIGHT:.1f} 12.0"
