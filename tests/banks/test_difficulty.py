"""A run may cut a bank to a range of difficulty."""

from pathlib import Path

import pytest
from shipped_banks import shipped

from rsi.banks.generated import open_bank
from rsi.config import load_settings
from rsi.errors import UserError
from rsi.types import Recipe

ROOT = Path(__file__).resolve().parents[2]
SALT = b"s" * 32


def test_the_demo_keeps_the_one_liners():
    settings = load_settings(ROOT / "demo.toml")
    whole = shipped("shell")
    cut = open_bank(ROOT / "task_banks/shell", SALT, settings.difficulty)
    easy = {name for name, family in whole.definition.families.items() if family.difficulty[0] == 1}
    assert set(cut.definition.families) == easy < set(whole.definition.families)
    tasks = [task for split in ("train", "selection", "sealed") for task in cut.tasks(split)]
    assert {task.recipe.difficulty for task in tasks} == {1}
    assert not [task for task in tasks if task.setup]
    assert cut.digest != whole.digest
    with pytest.raises(UserError, match="difficulties 1 to 1, not 2"):
        cut.make(Recipe(family=cut.open_families[0], difficulty=2), 1, "train")


def test_levels_are_cut_to_the_range():
    cut = open_bank(ROOT / "task_banks/shell", SALT, (3, 4))
    ranges = {family.difficulty for family in cut.definition.families.values()}
    assert ranges == {(3, 3), (3, 4), (4, 4)}
    assert min(task.recipe.difficulty for task in cut.tasks("selection")) == 3  # the smallest split


def test_a_range_without_an_open_family_is_refused():
    with pytest.raises(UserError, match=r"no open family of .*bank\.toml has a level from 5 to 5"):
        open_bank(ROOT / "task_banks/reason", SALT, (5, 5))


def test_a_bad_range_is_refused(tmp_path):
    for text, message in (("[0, 2]", "'difficulty.0'"), ("[3, 2]", "upside down")):
        (tmp_path / "run.toml").write_text(f"difficulty = {text}\n")
        with pytest.raises(UserError, match=message):
            load_settings(tmp_path / "run.toml")
