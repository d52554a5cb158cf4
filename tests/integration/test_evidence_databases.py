"""Real databases inside a tool: SQLite by SQLAlchemy, PostgreSQL where a server is installed. Errors and row counts."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import overclaim
from overclaim._record import current_record
from overclaim.evidence import databases, sqlite
from overclaim.outcome.model import Evidence

INSERT = "INSERT INTO users VALUES (?)"
sqlalchemy = pytest.importorskip("sqlalchemy")


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Any]:
    """A database with the users ann and bob."""
    made = sqlalchemy.create_engine(f"sqlite:///{tmp_path}/test.db")
    with made.begin() as connection:
        for statement in (
            "CREATE TABLE users (name TEXT PRIMARY KEY, active INTEGER)",
            "CREATE TABLE log (line TEXT)",
            "INSERT INTO users VALUES ('ann', 1), ('bob', 1)",
        ):
            connection.execute(sqlalchemy.text(statement))
    yield made
    made.dispose()


def run(execute: Callable[[str], object], *statements: str, name: str = "update_user") -> list[Evidence]:
    """What a tool leaves that executes these statements and swallows every error."""
    kept: list[Evidence] = []

    @overclaim.tool(name=name)
    def tool() -> str:
        for statement in statements:
            with suppress(Exception):
                execute(statement)
        record = current_record()
        assert record is not None
        kept.extend(one for one in record.evidence if one.rule != "exception.handled")
        return "done"

    tool()
    return kept


def by(engine: Any) -> Callable[[str], object]:
    """Execute in a transaction of its own."""

    def execute(statement: str) -> object:
        with engine.begin() as connection:
            return connection.execute(sqlalchemy.text(statement)).rowcount

    return execute


def outcome(telemetry: Any, name: str = "update_user") -> str:
    """What was observed of the last call of a tool."""
    return telemetry.named(f"execute_tool {name}")[-1].attributes["overclaim.observed.outcome"]


@pytest.mark.parametrize(
    ("statements", "observed"),
    [
        (["UPDATE users SET active = 0 WHERE name = 'ann'"], "success"),
        (["UPDATE users SET active = 0 WHERE name = 'eve'"], "empty"),
        (["DELETE FROM users WHERE name = 'eve'"], "success"),  # gone is gone; it stays a suspicion
        (["INSERT INTO log SELECT name FROM users WHERE name = 'eve'"], "empty"),
        (["INSERT INTO users VALUES ('ann', 0)"], "failure"),
        (["UPDATE nowhere SET active = 0"], "failure"),
        # Clearing up beside the work, before it or after it.
        (["DELETE FROM log", "INSERT INTO users VALUES ('eve', 1)"], "success"),
        (["INSERT INTO users VALUES ('eve', 1)", "DELETE FROM log"], "success"),
        # An attempt, and another way to the same end.
        (["UPDATE users SET active = 0 WHERE name = 'eve'", "INSERT INTO users VALUES ('eve', 0)"], "success"),
        (["INSERT INTO users VALUES ('ann', 0)", "UPDATE users SET active = 0 WHERE name = 'ann'"], "success"),
        (["INSERT INTO users VALUES ('ann', 0)", "SELECT * FROM users WHERE name = 'ann'"], "success"),
        (["CREATE TABLE users (name TEXT)", "INSERT INTO log VALUES ('x')"], "success"),
        (["UPDATE users SET nothing = 0", "UPDATE users SET active = 0"], "success"),
        # Not mended: the change did not come about.
        (["UPDATE users SET nothing = 0", "SELECT * FROM users"], "failure"),
        (["INSERT INTO users VALUES ('ann', 0)", "INSERT INTO log VALUES ('x')"], "failure"),
        # A statement that is content with nothing.
        (["INSERT OR IGNORE INTO users VALUES ('ann', 0)"], "success"),
        (["INSERT INTO users VALUES ('ann', 0) ON CONFLICT DO NOTHING"], "success"),
        (["SELECT * FROM users WHERE name = 'eve'"], "success"),
        (["/* from the tool */ -- or so\n UPDATE users SET active = 0 WHERE name = 'eve'"], "empty"),
        (["WITH some AS (SELECT 1) UPDATE users SET active = 0 WHERE name = 'eve'"], "success"),
    ],
)
def test_what_statements_came_to(telemetry: Any, engine: Any, statements: list[str], observed: str) -> None:
    """The outcome of a tool is that of its changes, whatever it tells."""
    run(by(engine), *statements)
    assert outcome(telemetry) == observed


def test_nothing_of_a_statement_is_kept(telemetry: Any, engine: Any) -> None:
    """Kind of database, verb and table name the target; the rest stays where it is."""
    kept = run(
        by(engine), "UPDATE \"users\" SET active = 7654321 WHERE name = 'geheim'", "INSERT INTO users VALUES ('ann', 5)"
    )
    told = [(one.target, one.rule, one.value) for one in kept]
    assert told == [
        ("sqlite UPDATE users", "db.rows_0", "0"),
        ("sqlite INSERT users", "db.error", "IntegrityError"),
    ]
    shown = str(dict(telemetry.one("execute_tool update_user").attributes))
    assert "geheim" not in shown
    assert "7654321" not in shown


def test_a_session_is_seen_as_well(telemetry: Any, engine: Any) -> None:
    """The object-relational mapper sends its statements the same way."""
    orm = pytest.importorskip("sqlalchemy.orm")

    class Base(orm.DeclarativeBase):
        pass

    class User(Base):
        __tablename__ = "users"
        name = orm.mapped_column(sqlalchemy.String, primary_key=True)
        active = orm.mapped_column(sqlalchemy.Integer)

    def add(name: str) -> None:
        with orm.Session(engine) as session:
            session.add(User(name=name, active=1))
            session.commit()

    run(add, "ann")
    assert outcome(telemetry) == "failure"
    run(add, "eve")
    assert outcome(telemetry) == "success"


def test_an_asynchronous_engine_is_seen(telemetry: Any, tmp_path: Path) -> None:
    """From asyncio the events come in the task's own context."""
    pytest.importorskip("aiosqlite")
    pytest.importorskip("greenlet")
    asyncio_engine = pytest.importorskip("sqlalchemy.ext.asyncio")

    @overclaim.tool
    async def update_user() -> str:
        engine = asyncio_engine.create_async_engine(f"sqlite+aiosqlite:///{tmp_path}/other.db")
        async with engine.begin() as connection:
            await connection.execute(sqlalchemy.text("CREATE TABLE users (name TEXT)"))
            await connection.execute(sqlalchemy.text("UPDATE users SET name = 'x'"))
        await engine.dispose()
        return "updated"

    asyncio.run(update_user())
    assert outcome(telemetry) == "empty"


def test_an_empty_change_is_fine_where_that_is_declared(telemetry: Any, engine: Any) -> None:
    """What is expected of the tool around it counts."""
    overclaim.instrument(
        tracer_provider=telemetry.provider, expectations={"tools": {"update_user": {"empty_ok": True}}}
    )
    assert run(by(engine), "DELETE FROM users WHERE name = 'eve'") == []


def test_a_false_claim_over_no_row_is_contradicted(telemetry: Any, engine: Any) -> None:
    """The agent says that it deactivated Eve, whom nobody knows."""
    with overclaim.run("clerk") as agent:
        run(by(engine), "UPDATE users SET active = 0 WHERE name = 'eve'", name="deactivate_user")
        judgement = overclaim.check("I deactivated the user.")
        agent.answer("I deactivated the user.")
    assert judgement.verdict.accuses


def test_off_is_off(telemetry: Any, engine: Any) -> None:
    """No listener stays, and nothing is noted."""
    from sqlalchemy import event
    from sqlalchemy.engine import Engine

    heard = list(databases._HEARD.items())
    assert all(event.contains(Engine, name, one) for name, one in heard)
    overclaim.uninstrument()
    assert not any(event.contains(Engine, name, one) for name, one in heard)


def test_a_fault_of_ours_is_not_theirs(telemetry: Any, engine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Statements and their errors are as ever, whatever breaks here."""

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("ours")

    monkeypatch.setattr(databases, "_statement", broken)

    @overclaim.tool
    def update_user() -> int:
        return by(engine)("UPDATE users SET active = 0")  # type: ignore[return-value]

    assert update_user() == 2
    with pytest.raises(sqlalchemy.exc.IntegrityError):
        by(engine)("INSERT INTO users VALUES ('ann', 0)")


@pytest.mark.parametrize("way", ["connection", "cursor"])
def test_sqlite3_where_the_program_asks_for_it(telemetry: Any, way: str) -> None:
    """A connection of our class shows its statements, and is otherwise one like any other."""
    connection = sqlite3.connect(":memory:", factory=sqlite.Connection)
    with contextlib.closing(connection):
        connection.execute("CREATE TABLE users (name TEXT PRIMARY KEY)")
        execute = connection.execute if way == "connection" else connection.cursor().execute
        kept = run(execute, "UPDATE users SET name = 'x'", "SELECT geheim FROM users", "DELETE FROM users")
        assert [(one.target, one.rule) for one in kept] == [
            ("sqlite UPDATE users", "db.rows_0"),
            ("sqlite SELECT users", "db.error"),
            ("sqlite DELETE users", "db.rows_0"),
        ]
        many = connection.executemany
        assert [(one.rule, one.value) for one in run(lambda text: many(text, [("a",), ("b",)]), INSERT)] == [
            ("db.rows", "2")
        ]
        returned = run(lambda text: execute(text).fetchall(), "INSERT INTO users VALUES ('c') RETURNING name")
        assert [one.rule for one in returned if one.rule == "db.rows_0"] == []
        assert connection.execute("SELECT count(*) FROM users").fetchone() == (3,)


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    """A PostgreSQL server that is reached by a socket in a directory. It does not run as root."""
    pytest.importorskip("psycopg")
    initdb = shutil.which("initdb") or next(map(str, sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))), "")
    user: dict[str, Any] = {"user": "nobody"} if os.geteuid() == 0 else {}
    if not initdb:
        pytest.skip("PostgreSQL is not installed")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
        if user:
            shutil.chown(place, "nobody")
        data = f"{place}/data"
        subprocess.run([initdb, "-D", data, "-A", "trust", "-U", "me"], check=True, capture_output=True, **user)
        command = [str(Path(initdb).with_name("postgres")), "-D", data, "-k", place, "-h", ""]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, **user) as server:
            assert server.stderr is not None
            assert any("ready to accept" in line for line in server.stderr)
            yield f"host={place} user=me dbname=postgres"
            server.terminate()


def test_psycopg(telemetry: Any, postgres: str) -> None:
    """Cursors of psycopg, also of asyncio: once each, with composed statements, and below SQLAlchemy."""
    import psycopg
    from psycopg import sql

    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("CREATE TABLE users (name TEXT PRIMARY KEY)")
        kept = run(connection.execute, "UPDATE users SET name = 'x'", "INSERT INTO users VALUES ('a'), ('b')")
        assert [(one.target, one.rule, one.value, one.grade.label) for one in kept] == [
            ("postgresql UPDATE users", "db.rows_0", "0", "suspect"),
            ("postgresql INSERT users", "db.rows", "2", "structured"),
        ]
        composed = sql.SQL("DELETE FROM {} WHERE name = {}").format(sql.Identifier("users"), sql.Literal("geheim"))
        kept = run(connection.execute, composed)  # type: ignore[arg-type]
        assert [(one.target, one.rule) for one in kept] == [("postgresql DELETE users", "db.rows_0")]

    async def insert(statement: str) -> None:
        async with await psycopg.AsyncConnection.connect(postgres, autocommit=True) as connection:
            await connection.execute(statement)

    kept = run(lambda statement: asyncio.run(insert(statement)), "INSERT INTO users VALUES ('a')")
    assert [(one.rule, one.value) for one in kept] == [("db.error", "UniqueViolation")]
    place = postgres.partition("host=")[2].partition(" ")[0]
    engine = sqlalchemy.create_engine(f"postgresql+psycopg://me@/postgres?host={place}")
    kept = run(by(engine), "DELETE FROM users WHERE name = 'nobody'")
    assert [(one.target, one.rule) for one in kept] == [("postgresql DELETE users", "db.rows_0")]
    engine.dispose()


@pytest.mark.parametrize(
    ("module", "place"),
    [
        ("psycopg", "psycopg:Cursor"),
        ("pymysql.cursors", "pymysql.cursors:Cursor"),
        ("mysql.connector", "mysql.connector.cursor:MySQLCursor"),
    ],
)
def test_cursors_are_themselves_again(telemetry: Any, module: str, place: str) -> None:
    """Switched on they are watched, switched off the very same functions as before."""
    pytest.importorskip(module)
    name, _, kind = place.partition(":")
    cursor = getattr(pytest.importorskip(name), kind)
    ours = vars(cursor)["execute"]
    overclaim.uninstrument()
    theirs = vars(cursor)["execute"]
    assert ours is not theirs
    assert ours.__wrapped__ is theirs
