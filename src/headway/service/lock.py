"""One service a state directory: a lock that goes with the process, however it ends."""

import contextlib
import fcntl
import os
from pathlib import Path
from typing import final

from headway.core.errors import UnavailableError


@final
class StateLock:
    """Holds ``state/lock`` until it is released or the process is gone."""

    def __init__(self, state: Path) -> None:
        """Take the lock.

        Raises:
            UnavailableError: another service has it, or the directory cannot be written.
        """
        try:
            state.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._file = os.open(state / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise UnavailableError(
                f"state directory {state}: {error.strerror}; name another with --state"
            ) from None
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(self._file, 20).decode(errors="replace").strip() or "unknown"
            os.close(self._file)
            raise UnavailableError(
                f"another service (process {holder}) runs on {state}; "
                "stop it, or name another directory with --state"
            ) from None
        self._sign()

    def _sign(self) -> None:
        """Say who holds it. A full disk must not keep a service from starting to say so itself."""
        with contextlib.suppress(OSError):
            os.ftruncate(self._file, 0)
            os.pwrite(self._file, str(os.getpid()).encode(), 0)

    def release(self) -> None:
        """Let another service start; the file stays, for it is the lock of whoever comes next."""
        os.close(self._file)
