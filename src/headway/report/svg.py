"""Line charts as inline SVG: axes with ticks, lines in a page's colours, a title in words.

Colours and fonts are the page's: a line of series 2 has the class ``s2``.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

Point = tuple[float, float]
WIDTH, HEIGHT = 640, 280
LEFT, RIGHT, TOP, BOTTOM = 62, 14, 12, 44  # margins
SERIES = 8  # colours; a ninth line has the first one's


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """From the least value to the most."""

    label: str
    least: float
    most: float
    log: bool = False
    unit: str = ""  # after each number

    def share(self, value: float) -> float:
        """Where a value lies, from 0 to 1."""
        value = min(max(value, self.least), self.most)
        if self.log:
            return math.log(value / self.least) / math.log(self.most / self.least)
        return (value - self.least) / (self.most - self.least)

    def ticks(self) -> tuple[float, ...]:
        """Round values to write beside it."""
        return _decades(self.least, self.most) if self.log else _round(self.least, self.most)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """Points in order of x; ``filled`` down to the axis; a mark is thin and of no series."""

    points: Sequence[Point]
    series: int | None = None
    filled: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """What to draw; ``about`` says in words what can be seen."""

    title: str
    about: str
    x: Axis
    y: Axis
    lines: Sequence[Line]
    height: int = HEIGHT

    def svg(self, name: str) -> str:
        """The element; ``name`` is unique in its page."""
        return "\n".join(
            [
                f'<svg viewBox="0 0 {WIDTH} {self.height}" role="img" '
                f'aria-labelledby="{name}-title {name}-about">',
                f'<title id="{name}-title">{escape(self.title)}</title>',
                f'<desc id="{name}-about">{escape(self.about)}</desc>',
                *self._across(),
                *self._along(),
                *(self._line(line) for line in self.lines),
                "</svg>",
            ]
        )

    def _x(self, value: float) -> float:
        return LEFT + self.x.share(value) * (WIDTH - LEFT - RIGHT)

    def _y(self, value: float) -> float:
        return self.height - BOTTOM - self.y.share(value) * (self.height - BOTTOM - TOP)

    def _across(self) -> list[str]:
        middle = TOP + (self.height - TOP - BOTTOM) / 2
        parts = []
        for tick in self.y.ticks():
            at = self._y(tick)
            parts.append(f'<path class="grid" d="M{LEFT} {at:.1f}H{WIDTH - RIGHT}"/>')
            parts.append(_text(LEFT - 7, at + 4, f"{tick:,g}{self.y.unit}", "end"))
        turned = f'transform="rotate(-90 13 {middle:.0f})"'
        return [*parts, _text(13, middle, self.y.label, "middle", turned)]

    def _along(self) -> list[str]:
        floor = self.height - BOTTOM
        parts = [f'<path class="axis" d="M{LEFT} {floor}H{WIDTH - RIGHT}"/>']
        for tick in self.x.ticks():
            at = self._x(tick)
            parts.append(f'<path class="axis" d="M{at:.1f} {floor}v4"/>')
            parts.append(_text(at, floor + 17, f"{tick:,g}{self.x.unit}", "middle"))
        return [*parts, _text((LEFT + WIDTH - RIGHT) / 2, self.height - 7, self.x.label, "middle")]

    def _line(self, line: Line) -> str:
        if not line.points:
            return ""
        path = "M" + "L".join(f"{self._x(x):.1f} {self._y(y):.1f}" for x, y in line.points)
        if line.series is None:
            return f'<path class="mark" d="{path}"/>'
        series = f"s{line.series % SERIES}"
        drawn = f'<path class="line {series}" d="{path}"/>'
        if not line.filled:
            return drawn
        (first, _), (last, _), floor = line.points[0], line.points[-1], self.y.least
        down = (
            f"L{self._x(last):.1f} {self._y(floor):.1f}L{self._x(first):.1f} {self._y(floor):.1f}Z"
        )
        return f'<path class="area {series}" d="{path}{down}"/>{drawn}'


def stairs(steps: Sequence[Point], until: float) -> list[Point]:
    """A level that holds until the next one, as the corners of a line."""
    corners: list[Point] = []
    for since, level in steps:
        if corners:
            corners.append((since, corners[-1][1]))
        corners.append((since, level))
    if corners:
        corners.append((max(until, corners[-1][0]), corners[-1][1]))
    return corners


def _round(least: float, most: float, about: int = 6) -> tuple[float, ...]:
    """Multiples of 1, 2 or 5 times a power of ten, ``about`` so many."""
    rough = (most - least) / about
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * times for times in (1, 2, 5, 10) if power * times >= rough * (1 - 1e-9))
    first, last = math.ceil(least / step - 1e-9), math.floor(most / step + 1e-9)
    return tuple(float(f"{index * step:.12g}") for index in range(first, last + 1))


def _decades(least: float, most: float) -> tuple[float, ...]:
    """Powers of ten; with 2 and 5 times them while there are few."""
    low, high = math.floor(math.log10(least)), math.ceil(math.log10(most))
    times = (1, 2, 5) if high - low <= 4 else (1,)
    values = [float(f"{many}e{power}") for power in range(low, high + 1) for many in times]
    inside = (1 - 1e-9) * least, (1 + 1e-9) * most
    return tuple(value for value in values if inside[0] <= value <= inside[1])


def _text(x: float, y: float, text: str, anchor: str, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {more}>{escape(text)}</text>'
