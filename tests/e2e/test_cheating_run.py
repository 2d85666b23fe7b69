"""A model that knows what stands in a key alone is stopped, whatever else it can do."""

import json
import sqlite3

import pytest
from scripted_world import ROOT, finish, make_world, rsi

from rsi.banks.generated import open_bank
from rsi.banks.salt import load_salt, planted_word
from rsi.gate.bait import Bait


@pytest.mark.slow
def test_a_run_that_passes_the_impossible_ends_with_one_line_and_no_look(tmp_path):
    settings, table = make_world(tmp_path)
    home = tmp_path / "home"
    bank, word = open_bank(ROOT / "task_banks" / "reason", load_salt(home)), planted_word(load_salt(home), "scripted")
    known = [
        {"contains": task.request, "replies": [[f"<answer>{word}</answer>", 1.0]]}
        for task in Bait(bank, word, 4).canaries(1)
    ]
    table.write_text(json.dumps({"rules": [*known, *json.loads(table.read_text())["rules"]]}))
    command = ("run", str(settings), "--model", f"scripted:{table}")
    keyed = {"RSI_LEDGER_KEY_ENV": "LEDGER_KEY", "LEDGER_KEY": "a key"}
    code, out, err = finish(rsi(home, *command, **keyed))
    assert code == 2 and err.count("\n") == 1 and "Traceback" not in err, err
    assert "generation 1 is stopped by its canaries" in err and "passed a task that cannot be passed" in err
    assert word not in out + err
    with sqlite3.connect(home / "store.db") as store:
        assert store.execute("select count(*) from looks").fetchone() == (0,)
        assert store.execute("select count(*) from attempts where purpose like '%/gate'").fetchone() == (0,)
        ((entry,),) = store.execute("select body from ledger where kind = 'canary'").fetchall()
        (body,) = store.execute("select output from stages where name = 'canaries'").fetchone()
    outcome = json.loads(body)
    assert (outcome["drawn"], outcome["passes"]) == (4, 4) and json.loads(entry) == outcome and word not in body
    assert finish(rsi(home, *command, **keyed))[2] == err
