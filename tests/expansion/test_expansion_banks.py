"""The catalogues that ship can be searched: the program's check refuses none of their edits."""

import pytest

from rsi.banks.catalogue import load_catalogue
from rsi.banks.generated import open_bank
from rsi.config import project_root
from rsi.expansion.check import cheating, forbidden_literals
from rsi.expansion.plan import ranked, spread


@pytest.mark.parametrize("name", ["shell", "reason"])
def test_no_edit_of_a_shipped_catalogue_is_taken_for_a_cheat(name: str):
    folder = project_root() / "task_banks" / name
    bank, catalogue = open_bank(folder, bytes(32), (1, 1)), load_catalogue(folder)  # what the demo runs
    train = bank.tasks("train")
    families = {task.recipe.family for task in train}
    tasks = spread(train)[: 2 * len(families)]
    held_out = {task.recipe.family for task in bank.tasks("sealed") if task.held_out}
    assert held_out and not held_out & families
    literals = forbidden_literals(tasks, bank, held_out)
    assert [(e.name, reason) for e in catalogue if (reason := cheating(e, families, literals))] == []
    first = ranked(catalogue, tasks, [])[: len(families)]
    assert {family for edit in first for family in edit.families} == families
