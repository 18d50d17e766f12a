"""Both stores keep the contract; what only the SQL store promises is below."""

import sqlite3
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from headway.service.store.base import Store, StoreError
from headway.service.store.memory import MemoryStore
from headway.service.store.sql import SqlStore
from headway.testing.stores import COMMANDS, LIFE, StoreContract


class TestMemoryStore(StoreContract):
    @pytest.fixture
    def store(self) -> Store:
        return MemoryStore()


class TestSqlStore(StoreContract):
    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[Store]:
        store = SqlStore.at(tmp_path / "headway.db")
        yield store
        store.close()

    def test_what_was_kept_is_there_after_reopening(self, tmp_path: Path) -> None:
        first = SqlStore.at(tmp_path / "a.db")
        first.append(LIFE, COMMANDS)
        first.close()
        second = SqlStore.at(tmp_path / "a.db")
        assert tuple(entry.event for entry in second.load()) == LIFE
        assert second.pending() == COMMANDS
        second.close()

    @pytest.mark.parametrize("sql", ["UPDATE events SET at_s = 0", "DELETE FROM events"])
    def test_the_database_itself_refuses_to_change_the_past(self, tmp_path: Path, sql: str) -> None:
        store = SqlStore.at(tmp_path / "a.db")
        store.append(LIFE)
        store.close()
        connection = sqlite3.connect(tmp_path / "a.db")
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            connection.execute(sql)
        connection.close()

    def test_commits_are_durable(self, tmp_path: Path) -> None:
        """WAL with synchronous=FULL (2): a commit is on the disk when append returns."""
        store = SqlStore.at(tmp_path / "a.db")
        with store._engine.connect() as connection:
            assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
            assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2
        store.close()

    def test_only_its_owner_can_read_it(self, tmp_path: Path) -> None:
        SqlStore.at(tmp_path / "a.db").close()
        assert stat.S_IMODE((tmp_path / "a.db").stat().st_mode) == 0o600
        with pytest.raises(StoreError, match="cannot be opened: No such file"):
            SqlStore.at(tmp_path / "nowhere" / "a.db")

    def test_a_file_that_is_no_database(self, tmp_path: Path) -> None:
        (tmp_path / "a.db").write_text("not a database, and long enough to be seen as none" * 50)
        with pytest.raises(StoreError, match=r"a\.db cannot be opened"):
            SqlStore.at(tmp_path / "a.db")

    def test_tables_of_another_version(self, tmp_path: Path) -> None:
        SqlStore.at(tmp_path / "a.db").close()
        connection = sqlite3.connect(tmp_path / "a.db")
        connection.execute("UPDATE about SET version = 99")
        connection.commit()
        connection.close()
        with pytest.raises(StoreError, match="version 99"):
            SqlStore.at(tmp_path / "a.db")

    def test_a_database_that_another_process_holds(self, tmp_path: Path) -> None:
        store = SqlStore.at(tmp_path / "a.db")
        other = sqlite3.connect(tmp_path / "a.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with store._engine.connect() as connection:
            connection.exec_driver_sql("PRAGMA busy_timeout=10")
        with pytest.raises(StoreError, match="locked"):
            store.append(LIFE)
        other.execute("ROLLBACK")
        other.close()
        assert store.append(LIFE) == len(LIFE)
        store.close()
