"""A progress bar for those who have waited for a while at a terminal."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, final

PATIENCE_S = 2.0  # a wait that needs no progress bar


@final
class Progress:
    """A bar on stderr, once somebody has waited for a while at a terminal."""

    def __init__(self, jobs: int) -> None:
        self._jobs = jobs
        self._began_s = time.monotonic()
        self._bar: Any = None
        self._task: Any = None
        self._policy = ""

    def __call__(self, policy: str, finished: int) -> None:
        """So many jobs have finished under this policy."""
        if self._bar is None and not self._opened():
            return
        if policy != self._policy:
            if self._task is not None:
                self._bar.remove_task(self._task)
            self._policy, self._task = policy, self._bar.add_task(policy, total=self._jobs)
        self._bar.update(self._task, completed=finished)

    def _opened(self) -> bool:
        if not sys.stderr.isatty() or time.monotonic() - self._began_s < PATIENCE_S:
            return False
        from rich.console import Console
        from rich.progress import Progress as Bars

        self._bar = Bars(console=Console(stderr=True), transient=True)
        self._bar.start()
        return True

    def close(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()


@contextmanager
def progress(jobs: int) -> Iterator[Progress]:
    """Tell it how many of so many jobs have finished; the bar goes away at the end."""
    bar = Progress(jobs)
    try:
        yield bar
    finally:
        bar.close()
