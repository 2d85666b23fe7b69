"""Opening the database, its transactions, and its troubles told in one line.

SQLite in WAL mode under RSI_HOME by default, any SQLAlchemy URL otherwise. Knows no table.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError

from rsi.config import home
from rsi.errors import UserError, reason
from rsi.registry.locks import NO_LOCKS, missing_locks

T = TypeVar("T")
BUSY_MS = 5000  # SQLite waits this long for another writer before it says "locked"
TRIES = 6  # bounded: about 30 seconds in all


class Database:
    """Transactions over one engine. Safe to use from several threads."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._writing = engine.execution_options(rsi_write=True)
        self.where = engine.url.database or engine.url.render_as_string()
        self.is_file = engine.dialect.name == "sqlite" and bool(engine.url.database)
        self.anchors = anchors_of(engine.url)

    def read(self, work: Callable[[Connection], T]) -> T:
        """Run `work` in one consistent snapshot. Raises UserError where the store cannot be read."""
        return self._run(self._engine, work)

    def write(self, work: Callable[[Connection], T]) -> T:
        """Run `work` in one transaction, committed and durable on return, undone where `work` raises.

        SQLite takes the write lock at the start (BEGIN IMMEDIATE), so that what `work` reads stays true until it
        commits. While other writers are in the way, `work` is run again, from the start, a bounded number of times."""
        return self._run(self._writing, work)

    def _run(self, engine: Engine, work: Callable[[Connection], T]) -> T:
        for attempt in range(TRIES):
            try:
                with engine.begin() as connection:
                    return work(connection)
            except DBAPIError as error:
                if not _busy(error):
                    raise _explained(error, self.where) from error
                time.sleep(0.05 * 2**attempt)
        if self.is_file and (why := missing_locks(Path(self.where))):
            raise UserError(f"store {self.where}: {NO_LOCKS} ({why})")
        raise UserError(
            f"store {self.where}: other processes kept it busy for half a minute; try again when they ended"
        )

    def close(self) -> None:
        self._engine.dispose()


def default_url() -> URL:
    return sqlite_url(home() / "store.db")


def sqlite_url(file: Path) -> URL:
    """A path is no URL: `%`, `?` and `#` in it are letters. Kept as a URL, not as text, so that nothing parses it."""
    return URL.create("sqlite", database=str(file))


def anchors_of(url: URL) -> Path:
    """The folder of the ledger's anchors: beside the file of an SQLite store, else under RSI_HOME."""
    beside = url.get_backend_name() == "sqlite" and url.database
    return (Path(beside).absolute().parent if beside else home()) / "anchors"


def open_database(url: str | URL | None = None) -> Database:
    """Open the store at an SQLAlchemy URL (default: store.db under RSI_HOME) and bring its schema up to date.

    UserError where the URL is malformed, its driver missing, the place not writable, the file no database, or the store
    written by a newer version."""
    try:
        parsed = make_url(url if url is not None else default_url())
        if parsed.get_backend_name() == "sqlite" and parsed.database:
            Path(parsed.database).parent.mkdir(parents=True, exist_ok=True)
        engine = create_engine(parsed)
    except (ArgumentError, NoSuchModuleError, ImportError) as error:
        raise UserError(
            f"the store's URL cannot be used ({error}); give sqlite:///FILE or another SQLAlchemy URL"
        ) from None
    except OSError as error:
        raise UserError(f"store {parsed.database}: {error.strerror}; make its folder writable") from None
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _sqlite_connect)
        event.listen(engine, "begin", _sqlite_begin)
    database = Database(engine)
    try:
        database.write(_migrate)
    except BaseException:
        database.close()
        raise
    return database


def _sqlite_connect(connection: Any, _record: object) -> None:
    # The driver's own transaction handling is off: `_sqlite_begin` says BEGIN, so that DDL and reads are covered too.
    connection.isolation_level = None
    for pragma in (f"busy_timeout={BUSY_MS}", "journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {pragma}").close()


def _sqlite_begin(connection: Connection) -> None:
    writes = connection.get_execution_options().get("rsi_write")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _migrate(connection: Connection) -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    script = ScriptDirectory.from_config(config)
    present = MigrationContext.configure(connection).get_current_revision()
    if present == script.get_current_head():
        return
    with _newer_is_refused(present, connection):
        script.get_revision(present or "base")
        command.upgrade(config, "head")


@contextmanager
def _newer_is_refused(present: str | None, connection: Connection) -> Iterator[None]:
    try:
        yield
    except CommandError:
        where = connection.engine.url.database
        raise UserError(
            f"store {where}: written by a newer version of rsi (schema {present}); upgrade rsi, or use another RSI_HOME"
        ) from None


def _busy(error: DBAPIError) -> bool:
    text = str(error.orig).lower()
    return "database is locked" in text or "database table is locked" in text or "deadlock detected" in text


def _explained(error: DBAPIError, where: str) -> Exception:
    """A UserError for what a user can mend; the error itself for what is a fault of ours."""
    text = reason(error.orig or error)
    code = getattr(error.orig, "sqlite_errorname", None) or ""
    if ("LOCK" in code and code.startswith("SQLITE_IOERR")) or code in ("SQLITE_PROTOCOL", "SQLITE_IOERR_SHMMAP"):
        return UserError(f"store {where}: {NO_LOCKS} ({text})")
    if code.startswith("SQLITE_IOERR") and (why := missing_locks(Path(where))):
        return UserError(f"store {where}: {NO_LOCKS} ({why})")
    remedies = {
        "disk is full": "the disk is full; free some space and run again, nothing recorded was lost",
        "unable to open": "it cannot be opened; check the path and its permissions",
        "readonly database": "it is read-only; make the file and its folder writable",
        "not a database": "the file is no SQLite database; move it away or use another RSI_HOME",
        "could not decode": "a text in it is damaged; restore it from a copy, or use another RSI_HOME",
        "malformed": "the file is damaged; restore it from a copy, or use another RSI_HOME",
        "disk i/o error": "the disk failed; check it and its free space",
        "out of memory": "there is no memory left; close programs and run again, nothing recorded was lost",
        "could not connect": "the server does not answer; check the URL and that it runs",
        "connection refused": "the server does not answer; check the URL and that it runs",
    }
    for part, remedy in remedies.items():
        if part in text.lower():
            return UserError(f"store {where}: {remedy} ({text})")
    return error
