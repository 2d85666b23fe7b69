"""Every family, over many seeds: a sound task that idleness cannot pass."""

import random
from pathlib import Path

import pytest

from rsi.banks.content import WORDS
from rsi.banks.definition import load_definition
from rsi.banks.generated import TABLES
from rsi.banks.instance import Instance, family, trivial
from rsi.types import FileCheck, OutputCheck

LEVELS = {
    name: tuple(range(settings.difficulty[0], settings.difficulty[1] + 1))
    for name, settings in load_definition(Path("task_banks/shell")).families.items()
}
LONG = ("code", "ui")  # banks whose requests and references are whole texts
FAMILIES = [(table, name) for table in TABLES for name in TABLES[table]]


@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["one level", "every level"])
@pytest.mark.parametrize(("table", "name"), FAMILIES)
def test_family(table: str, name: str, every: bool):
    generator, levels = TABLES[table][name], LEVELS.get(name, (1, 2, 3))
    for difficulty in levels if every else levels[len(name) % len(levels) :][:1]:  # families differ in the one level
        made = [generator(random.Random(seed), difficulty) for seed in range(60)]
        sound = [instance for instance in made if not trivial(instance)]
        assert len(sound) >= 40  # rarely thrown away
        assert generator(random.Random(3), difficulty) == made[3]  # deterministic
        assert len({(i.request, tuple(i.files.items()), i.setup) for i in sound}) >= 25  # varied
        for instance in sound:
            if table not in LONG:
                assert len(instance.request.split()) <= (30 if difficulty < 4 else 70)
                assert all(len(text.splitlines()) <= 12 for text in instance.files.values())
                assert "\n" not in instance.reference
            outputs = [check for check in instance.checks if isinstance(check, OutputCheck)]
            assert all(check.expected.strip() for check in outputs)
            if table == "shell":
                assert instance.reference not in instance.request


def test_no_word_of_the_pool_holds_another():
    assert not [(a, b) for a in WORDS for b in WORDS if a != b and a in b]
    assert len(set(WORDS)) == len(WORDS)


def test_trivial_instances_are_seen():
    shows_file = Instance("Sort it.", "sort a", (OutputCheck(expected="x\n"),), {"a": "x"})
    nothing_out = Instance("Print.", "true", (OutputCheck(expected=" \n"),))
    left_alone = Instance("Keep a.", "true", (FileCheck(path="a", content="x"),), {"a": "x"})
    absent = Instance("Delete b.", "rm b", (FileCheck(path="b", content=None),), {"a": "x"})
    changed = Instance("Empty a.", "> a", (FileCheck(path="a", content=""),), {"a": "x"})
    assert all(map(trivial, (shows_file, nothing_out, left_alone, absent)))
    assert not trivial(changed)


def test_a_family_registers_once():
    table = {}
    family(table, "f")(lambda rng, difficulty: Instance("", "", ()))
    with pytest.raises(ValueError, match="twice"):
        family(table, "f")(lambda rng, difficulty: Instance("", "", ()))
