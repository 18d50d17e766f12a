"""Which news of agents is in the log already: an agent that hears no answer sends it again."""

from typing import final

from headway.core.control.events import BatchChanged, EpochRead, Event
from headway.core.ids import JobId
from headway.service.store.base import Store, once


@final
class Told:
    """Remembers the news of active jobs; of those that have ended the log is asked."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._keys: dict[JobId, set[str | None]] = {}

    def note(self, event: Event, *, active: bool) -> None:
        """An event about a job is in the log; ``active``: whether its job is, after that."""
        job_id = getattr(event, "job_id", None)
        if job_id is None:
            return
        if not active:
            self._keys.pop(job_id, None)
        elif isinstance(event, BatchChanged | EpochRead):
            self._keys.setdefault(job_id, set()).add(once(event))

    def before(self, event: Event, *, active: bool) -> bool:
        """Whether it is news that was told before."""
        if not isinstance(event, BatchChanged | EpochRead):
            return False
        if active:
            return once(event) in self._keys.get(event.job_id, ())
        logged = self._store.load(job_id=event.job_id)
        return once(event) in {once(known.event) for known in logged}
