import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from registry_records import make_look, make_record, make_verdict
from sqlalchemy import update

from rsi.errors import LeaseHeld, RsiError
from rsi.registry import lease as lease_module
from rsi.registry.champions import Champions
from rsi.registry.engine import open_database
from rsi.registry.lease import acquire, started
from rsi.registry.looks import Looks
from rsi.registry.models import leases
from rsi.registry.store import SqlStore

CHILD = """
import sys, time
from rsi.registry.engine import open_database
from rsi.registry.lease import acquire
lease = acquire(open_database(sys.argv[1]), "main", holder="the child")
print(lease.token, flush=True)
time.sleep(60)
"""


def expire(database):
    database.write(lambda connection: connection.execute(update(leases).values(expires_at=0.0)))


def test_one_holder_and_the_other_is_told_who(database):
    held = acquire(database, "main", holder="first run")
    with pytest.raises(LeaseHeld, match=f"in use by first run \\(process {os.getpid()} on "):
        acquire(database, "main")
    assert acquire(database, "other").token == 1, "another lineage is free"
    held.release()
    assert acquire(database, "main").token == 2, "the token only grows"


def test_of_many_at_once_one_wins(tmp_path):
    """On a fresh store: they also all want to make its tables."""
    url, barrier = f"sqlite:///{tmp_path}/fresh/store.db", threading.Barrier(6)

    def take(_):
        barrier.wait()
        database = open_database(url)
        try:
            return acquire(database, "main").token
        except LeaseHeld:
            return None

    with ThreadPoolExecutor(6) as pool:
        tokens = list(pool.map(take, range(6)))
    assert sorted(t for t in tokens if t) == [1]


@pytest.mark.chaos
def test_a_killed_holder_frees_its_lineage_at_once(database, url):
    child = subprocess.Popen([sys.executable, "-c", CHILD, url], stdout=subprocess.PIPE)
    assert child.stdout.readline() == b"1\n"
    with pytest.raises(LeaseHeld, match=f"the child \\(process {child.pid}"):
        acquire(database, "main")
    child.send_signal(signal.SIGKILL)
    while started(child.pid) is not None:  # a zombie counts as dead: it is not waited for yet
        time.sleep(0.01)
    assert acquire(database, "main").token == 2
    child.wait()
    child.stdout.close()


def test_a_reused_process_id_is_not_the_holder(database, monkeypatch):
    acquire(database, "main")
    real = started(os.getpid())
    monkeypatch.setattr(lease_module, "started", lambda pid: real + "1")
    assert acquire(database, "main").token == 2


def test_a_holder_elsewhere_is_replaced_only_when_its_lease_has_run_out(database, monkeypatch):
    monkeypatch.setattr(lease_module, "machine", lambda: "elsewhere")
    first = acquire(database, "main", seconds=0.3)
    monkeypatch.undo()
    with pytest.raises(LeaseHeld):
        acquire(database, "main")
    first.renew()
    time.sleep(0.4)
    assert acquire(database, "main").token == 2
    with pytest.raises(LeaseHeld, match="has lost its lease"):
        first.renew()
    first.release()
    with pytest.raises(LeaseHeld):
        acquire(database, "main")


@pytest.mark.slow
def test_heartbeats_keep_a_short_lease(database):
    with acquire(database, "main", seconds=0.3):
        time.sleep(0.6)
        with pytest.raises(LeaseHeld):
            acquire(database, "main")
    assert acquire(database, "main").token == 2


def test_a_replaced_holder_can_write_nothing_that_counts(database):
    champion, candidate = make_record("a0"), make_record("a1", 1)
    look = make_look(champion, candidate)
    old = acquire(database, "main")
    Champions(database, old).start(champion)
    Champions(database, old).publish(candidate)
    Looks(database, old).open(look)
    Looks(database, old).close(make_verdict(look))
    expire(database)
    new = acquire(database, "main")
    for write in (
        lambda: Champions(database, old).promote("main", candidate.pair.digest, look.digest),
        lambda: Champions(database, old).rollback("main", champion.pair.digest),
        lambda: Looks(database, old).open(make_look(champion, candidate, 2)),
        lambda: Looks(database, old).close(make_verdict(look)),
        lambda: SqlStore(database, old).commit_stage("main", 1, "gate", "{}"),
    ):
        with pytest.raises(LeaseHeld, match="has lost its lease"):
            write()
    assert Champions(database).current("main") == champion
    assert Champions(database, new).promote("main", candidate.pair.digest, look.digest)
    with pytest.raises(RsiError, match="holds the lease of 'main'"):
        Champions(database, new).start(make_record(lineage="other"))
