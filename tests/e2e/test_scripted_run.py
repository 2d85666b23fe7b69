"""`rsi run` whole, on the scripted model: as a user types it, and quicker in this process."""

import contextlib
import json
import shutil
import sqlite3
import sys

import pytest
from scripted_world import finish, make_world, rsi
from typer.testing import CliRunner

from rsi.cli import app
from rsi.config import load_settings
from rsi.errors import UserError
from rsi.gate.canaries import Outcome
from rsi.registry.champions import Champions
from rsi.registry.engine import open_database
from rsi.registry.lease import acquire
from rsi.registry.store import SqlStore
from rsi.wiring.pairs import rollback


def here(home, *arguments):
    """Without MLflow, which takes seconds to start and is a mirror only."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "mlflow", None)
        done = CliRunner().invoke(app, arguments, env={"RSI_HOME": str(home)}, catch_exceptions=False)
    return done.exit_code, done.stdout, done.stderr


def typed(home, *arguments):
    return finish(rsi(home, *arguments))


@pytest.fixture(scope="module", params=[here, pytest.param(typed, marks=pytest.mark.slow)])
def world(tmp_path_factory, request):
    folder = tmp_path_factory.mktemp("world")
    settings, table = make_world(folder)
    done = request.param(folder / "home", "run", str(settings), "--model", f"scripted:{table}")
    return folder, settings, table, request.param, done


def test_a_generation_is_run_and_the_better_harness_is_promoted(world):
    *_, (code, out, err) = world
    assert code == 0, err
    assert "Generation 1: promote" in out
    assert "MLflow" in out and "generation-1.html" in out


def test_the_record_holds_what_the_table_says(world):
    folder, settings, _, play, _ = world
    code, out, err = play(folder / "home", "status", str(settings), "--json")
    assert code == 0, err
    generation = json.loads(out)["generations"][0]
    verdict = generation["verdict"]
    assert verdict["decision"] == "promote" and generation["promoted"]
    assert verdict["rates"]["champion/all"]["n"] > 8 and verdict["gain"]["n"] == 15 and verdict["gain"]["low"] > 0
    assert verdict["effects"]["harness"]["low"] > 0 and "weights" not in verdict["effects"]
    assert generation["champion"]["pair"]["hcp"] != generation["candidate"]["pair"]["hcp"]


def test_the_report_tells_what_the_generation_was_begun_with(world):
    """Not what the settings say by now: the model was given on the command line alone."""
    folder, settings, table, play, _ = world
    code, out, _ = play(folder / "home", "status", str(settings), "--json")
    found = json.loads(out)
    assert code == 0 and found["model"] == f"scripted:{table}" == found["settings"]["model"]["id"]


def test_a_rerun_continues_from_where_it_is(world):
    folder, settings, table, play, _ = world
    database = folder / "home" / "store.db"
    before = sqlite3.connect(database).execute("select count(*) from attempts").fetchone()
    code, out, _ = play(folder / "home", "run", str(settings), "--model", f"scripted:{table}")
    assert code == 0 and "Generation 1: promote" in out
    assert sqlite3.connect(database).execute("select count(*) from attempts").fetchone() == before


@pytest.mark.slow
def test_the_ledger_of_a_run_is_whole_and_anchored(world):
    folder, settings, *_ = world
    code, out, err = finish(rsi(folder / "home", "ledger", "verify", str(settings), "--json"))
    assert code == 0, err
    found = json.loads(out)
    assert found["faults"] == [] and found["head"]["seq"] >= 4
    anchor = json.loads((folder / "home" / "anchors" / "scripted.json").read_text())
    assert (anchor["seq"], anchor["hash"]) == (found["head"]["seq"], found["head"]["hash"])
    code, out, err = finish(rsi(folder / "home", "ledger", "show", str(settings), "--json"))
    before = json.loads(out)[-2]  # the last entry is that of the report's own stage
    assert before["hash"] in (folder / "home" / "reports" / "scripted" / "generation-1.html").read_text()


@pytest.mark.slow
def test_the_champion_is_judged_against_itself(world):
    folder, settings, table, play, _ = world
    arguments = ("gate", "calibrate", str(settings), "--model", f"scripted:{table}", "--json")
    code, out, err = play(folder / "home", *arguments)
    found = json.loads(out)
    assert code == (1 if found["problems"] else 0), err
    width = found["difference"]["high"] - found["difference"]["low"]  # of 95%, so zero may by chance lie just outside
    assert abs(found["difference"]["value"]) < width < 0.3 and found["difference"]["n"] > 60
    assert found["shown"]["20"] > found["shown"]["1"] > 0


@pytest.mark.parametrize("hits", [0, 1])
def test_a_generation_under_way_is_rolled_back_only_where_its_canaries_stopped_it(world, tmp_path, monkeypatch, hits):
    folder, settings, *_ = world
    shutil.copytree(folder / "home", tmp_path / "home")
    monkeypatch.setenv("RSI_HOME", str(tmp_path / "home"))
    monkeypatch.setitem(sys.modules, "mlflow", None)
    database = open_database()
    old, new = (step.pair for step in Champions(database).history("scripted"))
    with acquire(database, "scripted") as lease:
        store = SqlStore(database, lease)
        store.commit_stage("scripted", 2, "start", json.dumps({"champion": new, "bank": "reason"}))
        store.commit_stage("scripted", 2, "canaries", Outcome(generation=2, passes=hits).model_dump_json())
    with contextlib.nullcontext() if hits else pytest.raises(UserError, match="is under way"):
        rollback(load_settings(settings), old[:12], "a test")
    assert Champions(database).current("scripted").pair.digest == (old if hits else new)


@pytest.mark.slow
def test_lineage_compare_and_rollback(world):
    folder, settings, _, play, _ = world
    home = folder / "home"
    code, out, err = play(home, "lineage", str(settings), "--json")
    assert code == 0, err
    first, second = json.loads(out)
    assert (first["role"], second["role"]) == ("former champion", "champion")
    code, out, _ = play(home, "compare", first["pair"], second["pair"], str(settings))
    assert code == 0 and "rsi.exemplars" in out
    code, out, err = play(home, "rollback", first["pair"], str(settings), "--reason", "a test")
    assert code == 0, err
    _, out, _ = play(home, "lineage", str(settings), "--json")
    assert [pair["role"] for pair in json.loads(out)] == ["champion", "former champion"]


@pytest.mark.slow
def test_a_changed_verdict_stops_the_next_run_and_is_named(world, tmp_path):
    folder, settings, table, *_ = world
    home = tmp_path / "home"
    shutil.copytree(folder / "home", home)
    with sqlite3.connect(home / "store.db") as raw:
        raw.execute("UPDATE verdicts SET decision = 'reject'")
    code, out, err = finish(rsi(home, "ledger", "verify", str(settings)))
    assert code == 1 and "'decision' of its row differs" in out, err
    code, out, err = finish(rsi(home, "run", str(settings), "--model", f"scripted:{table}"))
    assert code == 2 and "cannot be believed" in err and "Traceback" not in err
    code, out, _ = finish(rsi(home, "ledger", "show", str(settings)))
    assert code == 0 and "promotion" in out and "look" in out


@pytest.mark.slow
def test_a_signed_lineage_needs_its_key(world, tmp_path):
    _, settings, table, *_ = world
    home, keyed = tmp_path / "home", {"RSI_LEDGER_KEY_ENV": "LEDGER_KEY", "LEDGER_KEY": "a key"}
    arguments = ("run", str(settings), "--model", f"scripted:{table}", "--generations", "0")
    code, _, err = finish(rsi(home, *arguments, **keyed))
    assert (home / "anchors" / "scripted.json").exists(), err
    code, _, err = finish(rsi(home, *arguments))
    assert code == 2 and "is signed" in err
    code, _, err = finish(rsi(home, *arguments, RSI_LEDGER_KEY_ENV="LEDGER_KEY"))
    assert code == 2 and "'LEDGER_KEY' is not set" in err
