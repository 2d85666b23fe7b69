"""A key is given for the bank's own task alone: whatever of a task was changed, it is another one."""

from pathlib import Path

import pytest

from rsi.banks.generated import open_bank
from rsi.errors import UserError
from rsi.gate.bait import Bait
from rsi.types import Recipe, Task

BANKS = Path(__file__).resolve().parents[2] / "task_banks"
CHANGES = {
    "id": lambda task: "0" * 32,
    "bank": lambda task: "another",
    "recipe": lambda task: Recipe(family=task.recipe.family, difficulty=task.recipe.difficulty % 5 + 1),
    "split": lambda task: "train" if task.split == "sealed" else "sealed",
    "instance": lambda task: task.instance + 1,
    "held_out": lambda task: not task.held_out,
    "request": lambda task: task.request + " ",
    "files": lambda task: {**task.files, "more.txt": "text"},
    "setup": lambda task: task.setup + "; true",
    "needs_sandbox": lambda task: not task.needs_sandbox,
    "user_turns": lambda task: (*task.user_turns, "and again"),
}


@pytest.fixture(scope="module", params=["shell", "code", "reason", "route", "talk"])
def bank(request):
    return open_bank(BANKS / request.param, b"s" * 32)


def test_the_table_names_every_field_of_a_task():
    assert CHANGES.keys() == Task.model_fields.keys()


@pytest.mark.parametrize("split", ["train", "sealed"])
def test_every_own_task_has_its_key(bank, split):
    for task in bank.tasks(split)[:5]:
        assert bank.key(task).task_id == task.id


@pytest.mark.parametrize("split", ["selection", "sealed"])
@pytest.mark.parametrize("field", CHANGES)
def test_a_changed_task_has_none(bank, field, split):
    task = bank.tasks(split)[0]
    changed = task.model_copy(update={field: CHANGES[field](task)})
    with pytest.raises(UserError, match=f"task {changed.id} "):
        bank.key(changed)


@pytest.mark.parametrize("field", ["request", "files", "setup", "user_turns"])
def test_nor_has_a_changed_canary(bank, field):
    bait = Bait(bank, "word", 2)
    canary = bait.canaries(1)[0]
    assert bait.key(canary).task_id == canary.id
    with pytest.raises(UserError, match="is not of bank"):
        bait.key(canary.model_copy(update={field: CHANGES[field](canary)}))
