"""What a run recorded is bound: one value changed by hand, in any column, is found; and another salt is refused."""

import shutil
import sqlite3

import pytest
from scripted_world import make_world
from test_scripted_run import here

from rsi.errors import UserError
from rsi.registry.engine import open_database
from rsi.registry.ledger import Ledger
from rsi.registry.models import metadata

pytestmark = pytest.mark.slow
TABLES = ("attempts", "stages", "pairs", "looks", "verdicts", "promotions", "ledger")
UNBOUND: dict[str, set[str]] = {}  # columns that nothing vouches for
COLUMNS = [(name, column.name) for name in TABLES for column in metadata.tables[name].columns]


@pytest.fixture(scope="module")
def lived(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lived")
    settings, table = make_world(folder)
    code, _, err = here(folder / "home", "run", str(settings), "--model", f"scripted:{table}")
    assert code == 0, err
    return folder / "home", settings, table


@pytest.mark.parametrize(("table", "column"), COLUMNS)
def test_a_value_changed_by_hand_is_found(lived, tmp_path, table, column):
    home = tmp_path / "home"
    shutil.copytree(lived[0], home)
    assert verify(home) == []
    with sqlite3.connect(home / "store.db") as raw:
        for (trigger,) in raw.execute("select name from sqlite_master where type = 'trigger'").fetchall():
            raw.execute(f"drop trigger {trigger}")
        kind = raw.execute(f"select typeof({column}) from {table} order by rowid desc limit 1").fetchone()[0]
        other = (
            f"1 - {column}"
            if column in ("passed", "held_out")
            else f"{column} + 1"
            if kind in ("integer", "real")
            else f"coalesce({column}, '') || 'x'"
        )
        raw.execute(f"update {table} set {column} = {other} where rowid = (select max(rowid) from {table})")
    assert (verify(home) != []) == (column not in UNBOUND.get(table, ()))


def verify(home):
    database = open_database(f"sqlite:///{home / 'store.db'}")
    try:
        return list(Ledger(database).verify("scripted"))
    finally:
        database.close()


def test_another_salt_is_refused_before_the_next_generation_draws(lived, tmp_path):
    old, settings, table = lived
    home = tmp_path / "home"
    shutil.copytree(old, home)
    (home / "salt").chmod(0o600)
    (home / "salt").write_bytes(b"another" + bytes(25))
    with pytest.raises(UserError, match="began under salt"):
        here(home, "run", str(settings), "--model", f"scripted:{table}", "--generations", "2")
