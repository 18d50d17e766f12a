"""What measuring costs: of host and device whichever is slower, and never counted twice."""

from dataclasses import dataclass, field

from headway.agent.toll import Toll


@dataclass
class Device:
    """Its clock moves when work is queued on it; a mark takes the time at which it is passed."""

    now_ms: float = 0.0
    marks: list["Mark"] = field(default_factory=list)

    def mark(self) -> "Mark":
        self.marks.append(Mark(self))
        return self.marks[-1]


@dataclass
class Mark:
    device: Device
    at_ms: float = -1.0

    def record(self) -> None:
        self.at_ms = self.device.now_ms

    def elapsed_time(self, later: "Mark") -> float:
        return later.at_ms - self.at_ms


def test_spans_of_the_host_add_up_until_they_are_read() -> None:
    now_s = 0.0
    toll = Toll(lambda: now_s, None)
    for _ in range(3):
        toll.begin()
        now_s += 2.0
        toll.end()
        now_s += 100.0  # not measuring
    assert toll.read() == 6.0
    assert toll.read() == 0.0


def test_a_device_that_works_on_while_the_host_has_long_left_is_counted() -> None:
    device = Device()
    toll = Toll(lambda: 0.0, device.mark)
    for _ in range(2):
        toll.begin()
        device.now_ms += 500.0
        toll.end()
        device.now_ms += 9000.0
    assert toll.read() == 1.0
    assert toll.read() == 0.0
