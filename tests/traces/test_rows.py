"""Tables from outside: what is no table, or no sensible number, is one clear line."""

from collections.abc import Callable
from pathlib import Path

import pytest

from headway.core.errors import InvalidInputError
from headway.traces.catalogue import CATALOGUE
from headway.traces.pollux import read_profiles
from headway.traces.sniff import read_workload

Write = Callable[[str | bytes], Path]
POLLUX = "name,time,application,num_replicas,batch_size\na,0,cifar10,2,512\n"
NEUTRAL = "name,submitted_s,profile,requested_gpus,requested_batch_size,{}\na,0,cifar10,1,512,{}\n"


def refused(path: Path) -> str:
    with pytest.raises(InvalidInputError) as error:
        read_workload(path, CATALOGUE)
    return str(error.value)


def test_a_header_that_no_csv_has_is_bad_input(table: Write) -> None:
    """The csv module's own error came through as a traceback."""
    assert "line 1" in refused(table("n" * 200_000 + "\n"))


def test_lines_may_end_as_on_any_system(table: Write) -> None:
    """A file with CR alone was a traceback."""
    for end in ("\n", "\r\n", "\r"):
        assert len(read_workload(table(POLLUX.replace("\n", end)), CATALOGUE).jobs) == 1


@pytest.mark.parametrize(
    ("text", "field"),
    [
        (POLLUX.replace(",0,", ",1e308,"), "time"),  # time + a round is the same time: no end
        (NEUTRAL.format("max_accum_steps", 10**20), "max_accum_steps"),  # each was searched
        (NEUTRAL.format("max_batch_per_gpu", 10**20), "max_batch_per_gpu"),  # beyond 64 bits
        (POLLUX.replace(",2,", f",{'9' * 5000},"), "num_replicas"),
    ],
)
def test_a_number_beyond_all_use_is_named(table: Write, text: str, field: str) -> None:
    message = refused(table(text))
    assert f"line 2: {field} must be" in message
    assert len(message) < 200


@pytest.mark.parametrize("size", ["²5", "0", "9" * 30])
def test_a_run_of_an_impossible_batch_size_is_named(profile_folder: Path, size: str) -> None:
    run = profile_folder / "toy" / "validation-16.csv"
    run.rename(run.with_name(f"validation-{size}.csv"))
    with pytest.raises(InvalidInputError, match="validation-BATCHSIZE"):
        read_profiles(profile_folder)
