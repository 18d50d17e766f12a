"""Tables and their constraints, the same for SQLite and PostgreSQL."""

from sqlalchemy import (
    DDL,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    event,
)

VERSION = 1  # of this schema
metadata = MetaData()
BigId = BigInteger().with_variant(Integer, "sqlite")  # only an INTEGER is a row's own number there

about = Table(
    "about",
    metadata,
    Column("one", Integer, CheckConstraint("one = 1", name="about_is_one_row"), primary_key=True),
    Column("version", Integer, nullable=False),
)

events = Table(
    "events",
    metadata,
    Column("sequence", BigId, primary_key=True, autoincrement=False),
    Column("at_s", Double, nullable=False),
    Column("kind", Text, nullable=False),
    Column("job_id", Text),  # of the one job it is about
    Column("once", Text, unique=True),  # what may happen once only
    Column("body", Text, nullable=False),  # the line of the event log
    CheckConstraint("sequence >= 1", name="places_count_from_one"),
    CheckConstraint("at_s >= 0", name="no_time_before_the_epoch"),
)
Index("events_of_a_job", events.c.job_id, events.c.sequence)
Index("events_by_time", events.c.at_s)

commands = Table(
    "commands",
    metadata,
    Column("key", Text, primary_key=True),
    Column("sequence", BigId, ForeignKey("events.sequence"), nullable=False),  # what led to it
    Column("position", Integer, nullable=False),  # among the commands of one append
    Column("body", Text, nullable=False),
    Column("applied", Boolean, nullable=False, default=False),
)
Index(
    "commands_to_apply",
    commands.c.sequence,
    commands.c.position,
    sqlite_where=~commands.c.applied,
    postgresql_where=~commands.c.applied,
)

for change in ("UPDATE", "DELETE"):
    sqlite = DDL(  # type: ignore[no-untyped-call]
        f"CREATE TRIGGER events_no_{change.lower()} BEFORE {change} ON events "
        "BEGIN SELECT RAISE(ABORT, 'the event log is append-only'); END"
    )
    event.listen(events, "after_create", sqlite.execute_if(dialect="sqlite"))
postgresql = DDL(  # type: ignore[no-untyped-call]
    "CREATE FUNCTION events_append_only() RETURNS trigger LANGUAGE plpgsql AS "
    "$$ BEGIN RAISE EXCEPTION 'the event log is append-only'; END $$; "
    "CREATE TRIGGER events_no_change BEFORE UPDATE OR DELETE ON events "
    "FOR EACH ROW EXECUTE FUNCTION events_append_only()"
)
event.listen(events, "after_create", postgresql.execute_if(dialect="postgresql"))
