"""The code bank: its references give what an independent derivation says, and hidden calls stay hidden."""

import asyncio
import json
import random
import re
import shlex
from pathlib import Path

import pytest
from shipped_banks import shipped

from rsi.banks.catalogue import load_catalogue
from rsi.banks.certify import certify
from rsi.banks.code import CODE
from rsi.banks.code.forms import PARAMETERS
from rsi.banks.instance import Instance
from rsi.banks.near import SealedScan
from rsi.hcp import load
from rsi.types import CallsCheck
from rsi.verify.calls import same_value
from rsi.verify.checks import CheckVerifier

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def code_bank():
    return shipped("code")


def check_of(instance: Instance) -> CallsCheck:
    (check,) = instance.checks
    assert isinstance(check, CallsCheck)
    return check


def results(source: str, calls: tuple[str, ...]) -> list[object]:
    """What our own reference gives, in this process: no hostile code here."""
    names: dict[str, object] = {}
    exec(compile(source, "solution.py", "exec"), names)
    made: list[object] = []
    for call in calls:
        try:
            made.append(json.loads(json.dumps({"value": eval(call, names)})))
        except Exception as error:  # noqa: BLE001
            made.append({"raises": type(error).__name__})
    return made


def test_the_bank_is_as_large_as_promised(code_bank):
    families = code_bank.definition.families
    held_out = [name for name, family in families.items() if family.role == "held_out"]
    assert set(families) == set(CODE)
    assert len(families) >= 80 and len(held_out) >= 16
    assert 0.15 <= len(held_out) / len(families) <= 0.25


@pytest.mark.parametrize("difficulty", [1, 2, 3])
def test_references_give_what_is_expected_and_hidden_calls_tell(difficulty):
    for name, family in CODE.items():
        for seed in range(2):
            instance = family(random.Random(seed), difficulty)
            check, source = check_of(instance), "\n".join(shlex.split(instance.reference)[2:-2])
            wanted = [json.loads(text) for text in check.expected]
            made = results(source, check.calls)
            wrong = [c for c, a, b in zip(check.calls, made, wanted, strict=True) if not same_value(a, b)]
            assert not wrong, (name, seed, wrong[:1])
            assert len(set(check.calls)) >= 8, name
            assert len(set(check.expected)) >= 2, name  # no constant passes
            given = results(instance.files["solution.py"], check.calls)
            assert not any(map(same_value, given, wanted)), name  # the given file earns no call


@pytest.mark.parametrize("difficulty", [1, 3])
def test_the_rule_can_be_read_and_the_answer_cannot(difficulty):
    for name, family in CODE.items():
        instance = family(random.Random(5), difficulty)
        shown = instance.request + instance.files["solution.py"]
        for slot in ("TEXT", "MORE", "ITEMS", "NUM", "OTHER", "NAME", "OTHER_NAME"):
            assert slot not in shown.replace("_", " ").split() and slot not in instance.reference.split(), name
        assert instance.reference not in shown
        assert not [call for call in check_of(instance).calls if call in shown], name
        assert all(len(line) <= 160 for line in instance.files["solution.py"].splitlines()), name


@pytest.mark.slow
def test_splits_are_full_and_apart(code_bank):
    sealed = code_bank.tasks("sealed")
    scan = SealedScan(sealed)
    for split, per_family in (("train", 4), ("selection", 3)):
        tasks = code_bank.tasks(split)
        assert len(tasks) == per_family * len(code_bank.open_families)
        assert not [task.id for task in tasks[::31] if scan(task)]
    assert len(sealed) == 4 * len(CODE)


async def certified(code_bank, provider, tasks) -> None:
    turn = asyncio.Semaphore(3)

    async def prove(task):
        async with turn:
            return await certify(task, code_bank.key(task), CheckVerifier(provider), provider)

    for certificate in await asyncio.gather(*map(prove, tasks)):
        assert certificate.passed, certificate.reason


def firsts(code_bank):
    return list({task.recipe.family: task for task in reversed(code_bank.tasks("sealed"))}.values())


@pytest.mark.slow
async def test_every_second_family_is_certified(code_bank, sandbox_provider):
    await certified(code_bank, sandbox_provider, firsts(code_bank)[::2])


def test_documents_and_catalogue_load_and_show_no_task(code_bank):
    bare, default = (load(ROOT / "harness_configs/code" / name).harness() for name in ("bare.toml", "default.toml"))
    assert bare.tools == default.tools == ("shell",)
    assert not bare.exemplars and len(default.exemplars) == default.shots == 2
    edits = load_catalogue(ROOT / "task_banks/code")
    assert {name for edit in edits for name in edit.families} <= set(code_bank.open_families)
    requests = {task.request for split in ("train", "selection", "sealed") for task in code_bank.tasks(split)}
    assert not requests & {exemplar.request for exemplar in default.exemplars}


def rules(task) -> tuple[str, str]:
    """What the docstrings say, without names that vary, shown examples and purpose."""
    text = "\n".join(line for line in task.files["solution.py"].splitlines() if not line.startswith("#"))
    for name in re.findall(r"'(\w+)'", task.request):
        text = text.replace(name, "_")
    slots = {name: slot for slot, pool in PARAMETERS.items() for name in pool}
    return task.recipe.family, re.sub(r"\w+", lambda word: slots.get(word[0], word[0]), text)


def test_open_and_sealed_tasks_hardly_ever_state_the_same_rules(code_bank):
    seen = {rules(task) for split in ("train", "selection") for task in code_bank.tasks(split)}
    sealed = [rules(task) for task in code_bank.tasks("sealed") if not task.held_out]
    assert sum(one in seen for one in sealed) <= 0.05 * len(sealed)
