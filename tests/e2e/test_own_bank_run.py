"""A bank that brings its own generator is run whole; what is not certified is used nowhere."""

import json
import sqlite3
from pathlib import Path

import pytest
from scripted_world import finish, rsi

from rsi.banks.generated import open_bank
from rsi.banks.salt import load_salt
from rsi.banks.scaffold import scaffold

SETTINGS = """
lineage = "mine"
bank = "{bank}"
start = "bare"
[discovery]
tasks = 8
proposals = 1
[expansion]
edits = 4
attempts = 60
affected = 3
control = 0
retry_control = 4
selection = 8
[update]
steps = 0
[gate]
tasks = 10
held_out_tasks = 4
"""


def make_table(folder: Path, bank: Path, provider) -> Path:
    """A model that does as it was shown, once it is shown an exemplar."""
    tasks = open_bank(bank, load_salt(folder / "home"), provider=provider)
    every = [t for s in ("train", "selection", "sealed") for shard in (0, 1) for t in tasks.tasks(s, shard)]
    commands = {t.request: tasks.key(t).reference for t in every}
    rules = [
        {"contains": request, "needs": "song.txt", "replies": [[f"```sh\n{command}\n```", 1.0]]}
        for request, command in sorted(commands.items(), key=lambda pair: -len(pair[0]))
    ]
    table = folder / "table.json"
    table.write_text(json.dumps({"rules": [*rules, {"replies": [["I do not know.", 1.0]]}]}))
    return table


@pytest.mark.slow
def test_a_generation_on_a_bank_of_ones_own(tmp_path):
    from rsi.sandbox.bubblewrap import Bubblewrap

    bank = tmp_path / "mine"
    scaffold("mine", bank)
    code = bank / "generator.py"
    good = '"reference": "awk \'length'
    assert good in code.read_text()
    broken = good.replace('"reference": ', '"reference": "false" if rng.random() < 0.3 else ')
    code.write_text(code.read_text().replace(good, broken))
    settings = tmp_path / "settings.toml"
    settings.write_text(SETTINGS.format(bank=bank))
    (tmp_path / "home").mkdir()
    salt = tmp_path / "home/salt"  # a known one, with which some of the sealed tasks that are drawn are broken ones
    salt.write_bytes(bytes(32))
    salt.chmod(0o600)
    table = make_table(tmp_path, bank, Bubblewrap())
    exit_code, out, err = finish(rsi(tmp_path / "home", "run", str(settings), "--model", f"scripted:{table}"))
    assert exit_code == 0, err

    (file,) = (tmp_path / "home/certificates/mine").glob("*.jsonl")
    proofs = [json.loads(line) for line in file.read_text().splitlines()]
    bad = {proof["task_id"] for proof in proofs if not proof["passed"]}
    assert {proof["reason"] for proof in proofs} == {"", "its reference does not pass"}
    with sqlite3.connect(tmp_path / "home/store.db") as store:
        ((left_out,),) = store.execute("select output from stages where name = 'certified'").fetchall()
        tasks = {
            row[0] for row in store.execute("select distinct task_id from attempts where purpose not like '%/canaries'")
        }
    failed = [task for task, why in json.loads(left_out).items() if why == "its reference does not pass"]
    assert failed and set(failed) <= bad
    assert f"gate: sealed task {failed[0][:12]} is left out" in out
    assert tasks
    assert tasks <= {proof["task_id"] for proof in proofs} - bad  # every task that was drawn had proved itself
