"""What is told of attempts that were lost or refused."""

from registry_records import make_attempt

from rsi.registry.engine import open_database
from rsi.registry.lease import acquire
from rsi.registry.store import SqlStore
from rsi.types import Termination


def opened(folder):
    database = open_database(f"sqlite:///{folder / 'rsi.db'}")
    return SqlStore(database, acquire(database, "l"))


def lost(n, error):
    return make_attempt(n, purpose="l/seed0/gen1/screen").model_copy(
        update={"score": None, "error": error, "termination": Termination.INFRASTRUCTURE}
    )


def test_a_lost_attempt_counts_once_with_its_last_reason_until_it_is_played(tmp_path):
    store = opened(tmp_path)
    for n, error in ((1, "reset"), (1, "status 503"), (2, "status 503"), (3, "reset"), (4, "full disk")):
        store.record(lost(n, error))
    assert store.lost("l/seed0/gen1/") == {"status 503": 2, "reset": 1, "full disk": 1}
    assert store.lost("l/seed0/gen2/") == {}
    store.record(make_attempt(1, purpose="l/seed0/gen1/screen"))
    assert store.lost("l/seed0/gen1/") == {"status 503": 1, "reset": 1, "full disk": 1}


def test_refused_conversations_are_counted_and_words_about_them_are_not(tmp_path):
    store = opened(tmp_path)
    for n, end in enumerate((Termination.REFUSED, Termination.ANSWERED, Termination.REFUSED)):
        said = '{"termination":"refused"}'
        store.record(make_attempt(n, purpose="l/p/").model_copy(update={"termination": end, "output": said}))
    assert store.refused("l/p/") == 2 and store.refused("l/q/") == 0
