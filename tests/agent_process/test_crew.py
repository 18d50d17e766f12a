"""What is made of the exits and the error output of a generation."""

import os
import signal

import pytest

from headway.agent.crew import Complaint, Crew, Pipe, Verdict, Worker
from headway.protocol.environment import YIELDED

TRACEBACK = """Traceback (most recent call last):
  File "x.py", line 1, in <module>
    import nothing
ModuleNotFoundError: No module named 'nothing'
"""


def complaint(text: str) -> Complaint:
    heard = Complaint()
    for line in text.split("\n"):
        heard.feed(line)
    return heard


def crew_of(*codes: int | None) -> Crew:
    workers = [Worker(rank, Pipe(), None, code=code) for rank, code in enumerate(codes)]
    crew = Crew(generation=1, workers=workers, alone=False)
    for worker in workers:
        worker.stderr.let_go()
    crew.close()
    return crew


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (TRACEBACK, "ModuleNotFoundError: No module named 'nothing'"),
        (TRACEBACK + "[W] destroy_process_group was not called\n", "ModuleNotFoundError"),
        (TRACEBACK + "going on\n" * 9 + "no such data set\n\n", "no such data set"),
        ("train: no such data set\n", "train: no such data set"),
        ("", ""),
    ],
)
def test_the_line_that_tells_is_found(text: str, line: str) -> None:
    assert complaint(text).line.startswith(line)


@pytest.mark.parametrize(
    ("codes", "asked", "forced", "verdict"),
    [
        ((0, 0), False, False, Verdict.FINISHED),
        ((0, 0), True, False, Verdict.FINISHED),  # it came to its end before it saw the order
        ((YIELDED, YIELDED), True, False, Verdict.YIELDED),
        ((YIELDED, 1), True, False, Verdict.YIELDED),  # tripped over one that had left
        ((-15, -9), True, True, Verdict.YIELDED),
        ((-9, 1), True, False, Verdict.YIELDED),  # killed, and the other tripped over it
        ((-6, 0), True, False, Verdict.YIELDED),  # crashed on its way out
        ((1, 0), True, False, Verdict.FAILED),  # could not save
        ((YIELDED, YIELDED), False, False, Verdict.FAILED),  # nobody had asked
        ((0, 3), False, False, Verdict.FAILED),
    ],
)
def test_the_exits_are_understood(
    codes: tuple[int, ...], asked: bool, forced: bool, verdict: Verdict
) -> None:
    crew = crew_of(*codes)
    crew.asked, crew.forced = asked, forced
    assert crew.all_out
    assert crew.broken == (verdict is Verdict.FAILED)
    assert crew.verdict() is verdict


def test_who_failed_first_is_blamed() -> None:
    """Story: the others' lost connections came before the one line that mattered."""
    crew = crew_of(1, 1, -9)
    crew.workers[1].complaint = complaint(TRACEBACK)
    crew.workers[0].complaint = complaint(TRACEBACK.replace("ModuleNotFound", "Connection"))
    assert crew.culprit().tell() == (
        "worker 1 exited with 1: ModuleNotFoundError: No module named 'nothing'"
    )


def test_who_was_killed_is_blamed_whatever_the_others_say_of_it() -> None:
    """A killed worker says nothing, and the lost connection of another was told instead."""
    crew = crew_of(1, 1)
    crew.workers[0].complaint = complaint(TRACEBACK.replace("ModuleNotFound", "Connection"))
    crew.workers[1].pid = 17
    crew.exited(17, signal.SIGKILL)
    assert crew.culprit().tell() == "worker 1 was killed by Killed (signal 9)"
    crew.workers[1].struck = False
    crew.forced = True
    crew.exited(17, signal.SIGKILL)  # by the agent, to be rid of it
    assert crew.culprit().tell().startswith("worker 0 exited with 1: ConnectionError")


def test_a_signal_is_named() -> None:
    assert crew_of(-9).culprit().tell() == "worker 0 was killed by Killed (signal 9)"


def test_lines_come_whole_also_the_last_without_an_end() -> None:
    pipe = Pipe()
    os.write(pipe.far_end, b"one\ntw")
    assert list(pipe.lines()) == [b"one"]
    os.write(pipe.far_end, b"o\nthree")
    os.close(pipe.far_end)
    assert list(pipe.lines()) == [b"two", b"three"]
    assert not pipe.open
    os.close(pipe.end)
