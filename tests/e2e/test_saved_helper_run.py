"""What an agent saves in one generation is proven, approved by a person, and called by the next generation's agent."""

import json
import re
import sqlite3

import pytest
from scripted_world import finish, rsi

from rsi.banks.generated import open_bank
from rsi.banks.salt import load_salt
from rsi.banks.scaffold import scaffold
from rsi.hcp import parse
from rsi.sandbox.bubblewrap import Bubblewrap
from rsi.types import Expansion

SETTINGS = """
lineage = "mine"
bank = "{bank}"
start = "{start}"
generations = {generations}
approved_edits = {approved}
[discovery]
tasks = 4
proposals = 0
[expansion]
edits = 2
attempts = 40
affected = 3
control = 0
retry_control = 2
selection = 6
[update]
steps = 0
[gate]
tasks = 6
held_out_tasks = 2
"""
DOCUMENT = """version = 1
[resources]
system_prompt = "Do as you are asked."
[model]
max_tokens = 600
[tools]
allow = ["shell"]
[[workspace.outputs]]
name = "list"
path = "list.txt"
[rsi]
protocol = "repl"
[rsi.budgets]
turns = 2
tokens = 1200
"""
COUNT = """def count_it(request, files):
    word = request.split("'")[1]
    return sum(line == word for text in files.values() for line in text.splitlines())
"""
CALL = "print(count_it(request={request!r}, files={{'list.txt': open('list.txt').read()}}))"


def block(code):
    return [[f"```python\n{code}\n```", 1.0]]


def make_table(bank):
    """The model saves its function, and calls it once it stands in the namespace."""
    tasks = [t for s in ("train", "selection", "sealed") for n in range(3) for t in bank.tasks(s, n)]
    rules = [
        {"contains": request, "needs": "Functions from earlier work", "replies": block(CALL.format(request=request))}
        for request in sorted({task.request for task in tasks if task.recipe.family == "count_word"})
    ]
    saving = block(f"save_tool(name='count_it', code={COUNT!r})")
    return {"rules": [*rules, {"contains": "How many lines", "replies": saving}, {"replies": [["Done.", 1.0]]}]}


@pytest.mark.slow
def test_a_saved_function_is_a_helper_of_the_next_generation(tmp_path):
    bank, home = tmp_path / "mine", tmp_path / "home"
    scaffold("mine", bank)
    (bank / "catalogue.toml").write_text("version = 1\n")
    start, settings, table = tmp_path / "start.toml", tmp_path / "settings.toml", tmp_path / "table.json"
    start.write_text(DOCUMENT)
    table.write_text(json.dumps(make_table(open_bank(bank, load_salt(home), provider=Bubblewrap()))))

    def run(generations, approved):
        words = {"bank": bank, "start": start, "generations": generations, "approved": json.dumps(approved)}
        settings.write_text(SETTINGS.format(**words))
        code, out, err = finish(rsi(home, "run", str(settings), "--model", f"scripted:{table}"), 600)
        assert code == 0, err
        with sqlite3.connect(home / "store.db") as store:
            query = "select output from stages where name = 'expansion' order by generation"
            return out, [Expansion.model_validate_json(row[0]) for row in store.execute(query)]

    out, (first,) = run(1, [])
    (edit,) = first.waiting
    assert first.helpers[0].proven and edit.change.helper.code == COUNT
    assert re.search(r"edit '.+' waits: rsi review show \w{12}", out)
    assert parse(first.document, "x").harness().helpers == ()

    _, (again, second) = run(2, [edit.digest])
    assert again == first
    (trial,) = second.trials
    assert trial.accepted and trial.edit == edit
    kept = list((home / "outputs").glob("*/list.txt"))  # of every attempt on a task that has one
    assert kept and all(path.read_text() for path in kept)
    assert parse(second.document, "x").harness().helpers == (edit.change.helper,)
