"""Several policies in one call: what goes wrong is told as what it is."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headway.core.errors import UnavailableError
from headway.core.policy import make
from headway.core.policy.base import Traits
from headway.core.types import Decision, Snapshot
from headway.sim.driver import Setup
from headway.sim.results import LOG, PART, Contender, run_all

FULL = Path("/dev/full")


@dataclass(frozen=True)
class Unreadable:
    """A policy that misses a file of its own."""

    traits = Traits()

    def start(self) -> None:
        """Nothing to remember."""

    def decide(
        self, snapshot: Snapshot, memory: None, rng: np.random.Generator
    ) -> tuple[Decision, None]:
        raise FileNotFoundError("weights.bin")


def contend(kit: Any, policy: Any, out: Path) -> None:
    setup = Setup(workload=kit.workload(kit.job("a")), cluster=kit.cluster())
    run_all(setup, [Contender(name="one", policy=policy, settings={})], out)


def test_a_policy_that_misses_a_file_is_not_a_log_that_cannot_be_written(
    kit: Any, tmp_path: Path
) -> None:
    """Past bug: any OSError of a whole simulation was blamed on the log."""
    with pytest.raises(FileNotFoundError, match="weights"):
        contend(kit, Unreadable(), tmp_path)


def test_a_log_in_a_place_that_is_no_folder_is_said_to_be_unwritable(
    kit: Any, tmp_path: Path
) -> None:
    (tmp_path / "one").touch()
    with pytest.raises(UnavailableError, match="cannot be written"):
        contend(kit, make("fifo", {}), tmp_path)


@pytest.mark.skipif(not FULL.exists(), reason="needs a device that is always full")
def test_a_log_on_a_full_disk_is_said_to_be_unwritable(kit: Any, tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / (LOG + PART)).symlink_to(FULL)
    with pytest.raises(UnavailableError, match="cannot be written"):
        contend(kit, make("fifo", {}), tmp_path)


def test_a_run_that_is_interrupted_leaves_the_log_of_the_one_before(
    kit: Any, tmp_path: Path
) -> None:
    """Past bug: the whole log of an earlier run was gone as soon as the next one began."""
    contend(kit, make("fifo", {}), tmp_path)
    before = (tmp_path / "one" / LOG).read_bytes()
    with pytest.raises(FileNotFoundError, match="weights"):
        contend(kit, Unreadable(), tmp_path)
    assert (tmp_path / "one" / LOG).read_bytes() == before
    assert (tmp_path / "one" / (LOG + PART)).exists()
    contend(kit, make("fifo", {}), tmp_path)
    assert not (tmp_path / "one" / (LOG + PART)).exists()
