"""Events in SQLite (or PostgreSQL), by SQLAlchemy Core; all SQL of the project is here."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, final

from sqlalchemy import Connection, create_engine, func, insert, select, update
from sqlalchemy import event as hooks
from sqlalchemy.exc import IntegrityError, SQLAlchemyError

from headway.core.control.commands import Command
from headway.core.control.events import Event
from headway.core.errors import InvalidInputError
from headway.core.ids import JobId
from headway.protocol import eventlog
from headway.service.store import codec, tables
from headway.service.store.base import Logged, StoreError, job_of, line, once

PAGE = 1000  # events read at a time
_PRAGMAS = ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "busy_timeout=5000")


@final
class SqlStore:
    """The log of a service; what ``append`` has returned from survives a loss of power."""

    def __init__(self, url: str) -> None:
        """Open, and make the tables if there are none.

        Raises:
            StoreError: it cannot be opened, or another version of Headway wrote it.
        """
        self._where = url.removeprefix("sqlite:///")
        with self._errors("opened"):
            self._engine = create_engine(url)
            if self._engine.dialect.name == "sqlite":
                hooks.listen(self._engine, "connect", _configure)
            self._create()

    @classmethod
    def at(cls, path: Path) -> "SqlStore":
        """A store in one file, for its owner alone: jobs may have secrets in their environment."""
        try:
            path.touch(mode=0o600)
        except OSError as error:
            raise StoreError(f"the event log {path} cannot be opened: {error.strerror}") from None
        return cls(f"sqlite:///{path}")

    def append(self, events: Sequence[Event], commands: Sequence[Command] = ()) -> int:
        """See ``Store``."""
        with self._errors("written"), self._engine.begin() as connection:
            last = connection.scalar(select(func.max(tables.events.c.sequence))) or 0
            rows = [_row(place, event) for place, event in enumerate(events, start=last + 1)]
            if rows:
                connection.execute(insert(tables.events), rows)
            last += len(rows)
            _put(connection, last, commands)
        return last

    def load(
        self, after: int = 0, limit: int | None = None, job_id: JobId | None = None
    ) -> Iterable[Logged]:
        """See ``Store``; pages, so that a long log needs little memory."""
        left = limit
        while left is None or left > 0:
            size = PAGE if left is None else min(PAGE, left)
            page = self._page(after, size, job_id)
            yield from page
            if len(page) < size:
                return
            after = page[-1].sequence
            left = None if left is None else left - size

    def _page(self, after: int, size: int, job_id: JobId | None) -> list[Logged]:
        columns = tables.events.c
        query = select(columns.sequence, columns.body).where(columns.sequence > after)
        if job_id is not None:
            query = query.where(columns.job_id == job_id)
        with self._errors("read"), self._engine.connect() as connection:
            rows = connection.execute(query.order_by(columns.sequence).limit(size)).all()
        return [Logged(place, eventlog.decode(body.encode())) for place, body in rows]

    def pending(self) -> tuple[Command, ...]:
        """See ``Store``."""
        columns = tables.commands.c
        query = select(columns.body).where(~columns.applied)
        with self._errors("read"), self._engine.connect() as connection:
            lines = connection.scalars(query.order_by(columns.sequence, columns.position)).all()
        return tuple(codec.decode(line) for line in lines)

    def mark_applied(self, keys: Sequence[str]) -> None:
        """See ``Store``."""
        if not keys:
            return
        change = update(tables.commands).where(tables.commands.c.key.in_(keys))
        with self._errors("written"), self._engine.begin() as connection:
            connection.execute(change.values(applied=True))

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    def _create(self) -> None:
        with self._engine.begin() as connection:
            tables.metadata.create_all(connection)
            version = connection.scalar(select(tables.about.c.version))
            if version is None:
                connection.execute(insert(tables.about), {"one": 1, "version": tables.VERSION})
            elif version != tables.VERSION:
                raise StoreError(
                    f"{self._where} has version {version} of the tables, this Headway knows "
                    f"{tables.VERSION}; start the Headway that wrote it"
                )

    @contextmanager
    def _errors(self, done: str) -> Iterator[None]:
        try:
            yield
        except IntegrityError as error:
            raise InvalidInputError(f"is in the log already: {error.orig}") from error
        except SQLAlchemyError as error:
            cause = getattr(error, "orig", None) or error
            raise StoreError(
                f"the event log {self._where} cannot be {done}: {cause}; free the disk or "
                "name another place with --state"
            ) from error


def _configure(connection: Any, _: object) -> None:
    """Every commit is on the disk before it is acknowledged; readers do not wait for the writer."""
    cursor = connection.cursor()
    for pragma in _PRAGMAS:
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _row(place: int, event: Event) -> dict[str, object]:
    return {
        "sequence": place,
        "at_s": event.at_s,
        "kind": type(event).__name__,
        "job_id": job_of(event),
        "once": once(event),
        "body": line(event),
    }


def _put(connection: Connection, sequence: int, commands: Sequence[Command]) -> None:
    keys = [command.key for command in commands]
    there = set(
        connection.scalars(select(tables.commands.c.key).where(tables.commands.c.key.in_(keys)))
    )
    rows = [
        {"key": c.key, "sequence": sequence, "position": position, "body": codec.encode(c)}
        for position, c in enumerate(commands)
        if c.key not in there
    ]
    if rows:
        connection.execute(insert(tables.commands), [{**row, "applied": False} for row in rows])
