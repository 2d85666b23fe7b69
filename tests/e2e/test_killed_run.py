"""kill -9 of `rsi run` at ten moments: nothing recorded is lost or repeated, and the verdict is that of a quiet run."""

import json
import random
import shutil
import sqlite3
import time

import pytest
from scripted_world import finish, make_world, rsi


def attempts(home):
    if not (home / "store.db").exists():
        return {}
    with sqlite3.connect(home / "store.db", timeout=30) as connection:
        try:
            return dict(connection.execute("select id, body from attempts"))
        except sqlite3.OperationalError:  # killed before its first migration
            return {}


def verdict(home, settings):
    _, out, _ = finish(rsi(home, "status", str(settings), "--json"))
    return [generation["verdict"] for generation in json.loads(out)["generations"]]


@pytest.mark.chaos
def test_ten_kills(tmp_path):
    settings, table = make_world(tmp_path, generations=2)
    tape, quiet, home = tmp_path / "tape.jsonl", tmp_path / "home", tmp_path / "killed"
    recording = settings.read_text() + f'[model]\nid = "scripted:{table}"\nrecord = "{tape}"\n'
    (tmp_path / "record.toml").write_text(recording)
    recorder = tmp_path / "recorder"
    for place in (recorder, home):
        place.mkdir()
        shutil.copy2(quiet / "salt", place / "salt")
    assert finish(rsi(recorder, "run", str(tmp_path / "record.toml")))[0] == 0
    replay = ("run", str(settings), "--model", f"replay:{tape}")
    assert finish(rsi(quiet, *replay))[0] == 0
    whole = len(attempts(quiet))

    seen, rng = {}, random.Random(7)
    for moment in range(10):
        process = rsi(home, *replay)
        until = whole * (moment + rng.random()) / 10  # somewhere in this tenth of the run
        while len(attempts(home)) < until:
            assert process.poll() is None, process.communicate()
            time.sleep(0.02)
        time.sleep(rng.uniform(0, 0.1))
        process.kill()
        process.communicate()
        now = attempts(home)
        assert seen.items() <= now.items()  # nothing recorded is lost or changed
        seen = now
    assert finish(rsi(home, *replay))[0] == 0
    final = attempts(home)
    assert seen.items() <= final.items()
    assert final.keys() == attempts(quiet).keys()  # an id is a primary key: equal sets mean none is repeated
    assert verdict(home, settings) == verdict(quiet, settings)
