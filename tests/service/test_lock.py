"""The lock of a state directory, and what it does when the disk is full."""

import os
from pathlib import Path

import pytest

from headway.core.errors import UnavailableError
from headway.service.lock import StateLock


def test_a_second_one_is_told_who_holds_it(tmp_path: Path) -> None:
    lock = StateLock(tmp_path)
    with pytest.raises(UnavailableError, match=f"process {os.getpid()}"):
        StateLock(tmp_path)
    lock.release()
    StateLock(tmp_path).release()


def test_a_full_disk_keeps_nobody_from_locking(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Signing the lock was a traceback there, before the store could say what is wrong."""

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "pwrite", full)
    lock = StateLock(tmp_path)
    with pytest.raises(UnavailableError, match="another service"):
        StateLock(tmp_path)
    lock.release()
