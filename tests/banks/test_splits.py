"""Splits by instance and by family: sealed tasks are unforeseeable, fresh and balanced; no open task is near them."""

from pathlib import Path

import pytest

from rsi.banks.generated import open_bank
from rsi.banks.near import SealedScan
from rsi.errors import UserError
from rsi.types import OpenTask, Recipe

SPLITS = ("train", "selection", "sealed")


BANKS = Path(__file__).resolve().parents[2] / "task_banks"


def levels(bank, family: str) -> range:
    low, high = bank.definition.families[family].difficulty
    return range(low, high + 1)


def again(bank, salt: bytes):
    return open_bank(BANKS / bank.definition.name, salt)


def test_the_banks_are_as_large_as_promised(bank):
    held_out = len(bank.definition.families) - len(bank.open_families)
    least, least_held_out = (20, 5) if bank.definition.name == "shell" else (12, 3)
    assert len(bank.open_families) >= least
    assert held_out >= least_held_out
    assert 0.15 <= held_out / len(bank.definition.families) <= 0.25  # about a fifth


def test_same_salt_same_tasks_other_salt_other_sealed_ones(bank):
    twin, other = again(bank, b"s" * 32), again(bank, b"t" * 32)
    for split in SPLITS:
        assert bank.tasks(split) == twin.tasks(split)
    assert bank.digest == other.digest
    assert bank.salt_digest != other.salt_digest
    assert bank.tasks("sealed") == twin.tasks("sealed") != other.tasks("sealed")
    ours = {task.id for task in bank.tasks("sealed")}
    theirs = {task.id for task in other.tasks("sealed")}
    assert len(ours & theirs) < len(ours) / 4  # small families meet by chance


def test_each_split_has_all_its_families_balanced_in_any_prefix(bank):
    for split in SPLITS:
        tasks = bank.tasks(split)
        assert len({task.id for task in tasks}) == len(tasks)
        for part in (
            [task for task in tasks if not task.held_out],
            [task for task in tasks if task.held_out],
        ):
            families = {task.recipe.family for task in part}
            for n in range(1, len(part)):
                counts = [sum(task.recipe.family == family for task in part[:n]) for family in families]
                assert max(counts) - min(counts) <= 1
        found = {task.recipe.family for task in tasks}
        assert found == (set(bank.definition.families) if split == "sealed" else set(bank.open_families))


def test_held_out_families_are_sealed_only(bank):
    for split in ("train", "selection"):
        assert all(isinstance(task, OpenTask) for task in bank.tasks(split))
    for task in bank.tasks("sealed"):
        assert task.held_out == (task.recipe.family not in bank.open_families)
        assert not isinstance(task, OpenTask)


def test_splits_and_shards_share_nothing(bank):
    ids = {split: {task.id for task in bank.tasks(split)} for split in SPLITS}
    assert not ids["train"] & ids["selection"]
    assert not (ids["train"] | ids["selection"]) & ids["sealed"]
    shards = [{task.id for task in bank.tasks("sealed", shard)} for shard in range(3)]
    for later in (1, 2):
        repeated = shards[later] & set.union(*shards[:later])
        # every shell family has enough instances; a small question family repeats only when it has run out
        assert len(repeated) <= (0 if bank.definition.name == "shell" else len(shards[later]) / 5)


def test_no_open_task_is_near_a_sealed_one_of_any_shard(bank):
    scan = SealedScan([task for shard in (0, 1) for task in bank.tasks("sealed", shard)])
    made = [
        bank.make(Recipe(family=family, difficulty=difficulty), 7, split)
        for family in bank.open_families
        for difficulty in levels(bank, family)
        for split in ("train", "selection")
    ]
    hits = {task.request: scan(task) for task in (*bank.tasks("train"), *bank.tasks("selection"), *made) if scan(task)}
    assert not hits


def test_keys_are_made_again_from_recipe_and_instance(bank):
    twin = again(bank, b"s" * 32)
    for split in SPLITS:
        for task in bank.tasks(split)[:40]:
            key = twin.key(task)
            assert key.task_id == task.id
            assert key.reference
            assert key.checks
    sealed = bank.tasks("sealed")[0]
    with pytest.raises(UserError, match="or another salt"):
        again(bank, b"t" * 32).key(sealed.model_copy(update={"instance": sealed.instance + 1}))
    with pytest.raises(UserError, match="not of bank"):
        bank.key(sealed.model_copy(update={"bank": "other"}))


def test_make_refuses_what_may_not_be_made(bank):
    open_family = bank.open_families[0]
    held_out = next(name for name, family in bank.definition.families.items() if family.role == "held_out")
    task = bank.make(Recipe(family=open_family, difficulty=3), 11, "selection")
    assert task.split == "selection"
    assert bank.key(task).task_id == task.id
    assert bank.make(Recipe(family=open_family, difficulty=3), 11, "train").id != task.id
    for recipe, split, words in (
        (Recipe(family=held_out), "train", "no open family"),
        (Recipe(family="unheard_of"), "train", "no open family"),
        (Recipe(family=open_family, difficulty=4), "train", "difficulties 1 to 3"),
        (Recipe(family=open_family), "sealed", "cannot be made"),
    ):
        with pytest.raises(UserError, match=words):
            bank.make(recipe, 1, split)


def test_equal_seeds_give_families_nothing_in_common(bank):
    made = [bank.make(Recipe(family=f, difficulty=levels(bank, f)[0]), 5, "train") for f in bank.open_families]
    bodies = [body for task in made for body in task.files.values() if body]
    assert len(set(bodies)) == len(bodies)
