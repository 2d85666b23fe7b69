import os
import signal
import sqlite3
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from registry_records import make_attempt
from sqlalchemy import create_engine, event

from rsi.errors import IntegrityError, UserError
from rsi.registry.engine import open_database
from rsi.registry.lease import acquire
from rsi.registry.models import metadata
from rsi.registry.store import SqlStore


@pytest.fixture
def store(database):
    return SqlStore(database, acquire(database, "main"))


def test_an_attempt_is_recorded_once_and_comes_back_whole(store):
    attempt = make_attempt(text='hostile "text"\x00 \u2028 </script> é')
    store.record(attempt)
    assert store.get([attempt.id, "unknown"]) == {attempt.id: attempt}
    with pytest.raises(IntegrityError, match="recorded already"):
        store.record(attempt)
    assert store.counts() == (1, 0)


def test_an_infrastructure_failure_stays_owed_until_it_is_made_good(store):
    lost = make_attempt(score=False)
    store.record(lost)
    store.record(lost)
    assert store.get([lost.id]) == {} and store.counts("main/gen0/") == (0, 2)
    store.record(make_attempt())
    assert (
        store.get([lost.id])[lost.id].passed
        and store.counts("main/gen0/") == (1, 2)
        and store.counts("main/gen1/") == (0, 0)
    )


def test_content_that_does_not_match_its_name_is_refused(store):
    with pytest.raises(IntegrityError, match="digest of its spec"):
        store.record(make_attempt().model_copy(update={"id": "0" * 32}))
    broken = make_attempt()
    with pytest.raises(IntegrityError, match="cannot be recorded"):
        store.record(broken.model_copy(update={"cost": broken.cost.model_copy(update={"seconds": float("nan")})}))
    assert store.counts() == (0, 0)


def test_more_ids_than_a_query_takes(store):
    store.record(make_attempt())
    assert len(store.get([make_attempt().id, *(str(i) for i in range(5000))])) == 1


def test_a_stage_is_committed_once(store):
    assert store.stage("main", 0, "discovery") is None
    store.commit_stage("main", 0, "discovery", '{"a": 1}')
    store.commit_stage("main", 0, "discovery", '{"a": 1}')
    assert store.stage("main", 0, "discovery") == '{"a": 1}'
    with pytest.raises(IntegrityError, match="another output"):
        store.commit_stage("main", 0, "discovery", '{"a": 2}')


def test_the_migrations_give_the_tables_of_the_models(database, url):
    with create_engine(url).connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []


def test_a_store_of_a_newer_version_is_one_clear_line(database, url, tmp_path):
    with sqlite3.connect(tmp_path / "store.db") as raw:
        raw.execute("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(UserError, match="newer version of rsi") as caught:
        open_database(url)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"), [(b"this is not a database, by no means" * 40, "no SQLite database"), (None, "cannot be")]
)
def test_a_file_that_is_no_store(tmp_path, content, message):
    path = tmp_path / "other.db"
    path.mkdir() if content is None else path.write_bytes(content)
    with pytest.raises(UserError, match=message):
        open_database(f"sqlite:///{path}")


@pytest.mark.parametrize("url", ["nonsense", "nosuchdb://host/x"])
def test_a_wrong_url(url):
    with pytest.raises(UserError, match="store's URL"):
        open_database(url)


def test_a_full_disk_is_one_clear_line_and_loses_nothing(store, database, monkeypatch):
    store.record(make_attempt(0))

    def full(connection):
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar()
        connection.exec_driver_sql(f"PRAGMA max_page_count={pages}")

    event.listen(database._engine, "begin", full)
    with pytest.raises(UserError, match="disk is full"):
        store.record(make_attempt(1, text="x" * 1_000_000))
    assert set(store.get([make_attempt(0).id])) == {make_attempt(0).id}


def _hammer(url, lease, first, count):
    store = SqlStore(open_database(url), lease)
    for draw in range(first, first + count):
        store.record(make_attempt(draw))


def test_several_writers_and_a_slow_one_never_see_a_locked_database(database, url, tmp_path):
    lease = acquire(database, "main")
    blocker = sqlite3.connect(tmp_path / "store.db", isolation_level=None, check_same_thread=False)
    blocker.execute("BEGIN IMMEDIATE")
    release = threading.Timer(0.3, lambda: blocker.execute("COMMIT"))
    release.start()
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda i: _hammer(url, lease, 100 * i, 8), range(3)))  # raises what any of them raised
    release.join()
    blocker.close()
    assert SqlStore(database).counts() == (24, 0)


def test_a_store_that_stays_busy_says_so(store, database, tmp_path, monkeypatch):
    monkeypatch.setattr("rsi.registry.engine.TRIES", 2)
    blocker = sqlite3.connect(tmp_path / "store.db", isolation_level=None)
    blocker.execute("BEGIN IMMEDIATE")
    database.read(lambda connection: connection.exec_driver_sql("PRAGMA busy_timeout=10"))
    with pytest.raises(UserError, match="kept it busy"):
        store.record(make_attempt())
    blocker.close()


def _record_until_killed(url, pipe):
    try:
        database, draw = open_database(url), 0
        store = SqlStore(database, acquire(database, "main"))
        while store.get([make_attempt(draw).id]):
            draw += 1
        while True:
            store.record(make_attempt(draw, text="y" * 20_000))
            os.write(pipe, b"%d\n" % draw)
            draw += 1
    finally:
        os._exit(1)  # a child of the test process must never go on as a second test run


@pytest.mark.chaos
def test_killed_ten_times_while_recording_nothing_acknowledged_is_lost(url):
    """A child records and acknowledges through a pipe; it is killed at ten different moments."""
    open_database(url).close()
    acknowledged = []
    for round_ in range(10):
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(reader)
            _record_until_killed(url, writer)
        os.close(writer)
        time.sleep(0.15 + 0.037 * round_)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        with os.fdopen(reader) as lines:
            acknowledged += [int(line) for line in lines]
    store = SqlStore(open_database(url))
    found = store.get([make_attempt(draw).id for draw in acknowledged])
    assert len(acknowledged) == len(set(acknowledged)) > 50, "nothing is acknowledged twice"
    assert len(found) == len(acknowledged)
    count = store.counts()[0]
    assert len(acknowledged) <= count <= len(acknowledged) + 10, "at most the one in flight of each round is extra"
