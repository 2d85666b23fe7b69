"""Honest work is not flagged, in any family that runs code; tampering is."""

import asyncio

import pytest
from honest_work import GIT, HONEST_COMMANDS, HONEST_FILES, TAMPERED_COMMANDS, TAMPERED_FILES
from shipped_banks import shipped

from rsi.banks.certify import certify
from rsi.harness.furnish import furnish
from rsi.ports import Deeds
from rsi.types import FileCheck, ProgramCheck, Recipe, Task, TaskKey
from rsi.verify.checks import CheckVerifier
from rsi.verify.tamper import flags

TASK = Task(id="t", bank="b", recipe=Recipe(family="f"), split="train", instance=1, request="Do it.")
LOOK = "python3 -I -c \"import json; print(json.load(open('a.json'))['a'])\""
KEY = TaskKey(task_id="t", reference="true", checks=(ProgramCheck(command=LOOK, expected="2"),))
CHANGE = "python3 -c \"import json; json.dump({'a': 2}, open('a.json', 'w'))\""


def of_files(files: dict[str, str], key: TaskKey = KEY) -> tuple[str, ...]:
    return flags(TASK, key, Deeds((), "", {path: text.encode() for path, text in files.items()}))


@pytest.mark.parametrize("name", HONEST_FILES)
def test_honest_files_are_not_flagged(name):
    assert of_files(HONEST_FILES[name]) == ()


@pytest.mark.parametrize("name", HONEST_COMMANDS)
def test_honest_commands_are_not_flagged(name):
    assert flags(TASK, KEY, Deeds((HONEST_COMMANDS[name],), "", {})) == ()


@pytest.mark.parametrize("name", TAMPERED_FILES)
def test_tampered_files_are_flagged(name):
    assert of_files(TAMPERED_FILES[name])


@pytest.mark.parametrize("name", TAMPERED_COMMANDS)
def test_tampering_commands_are_flagged(name):
    assert flags(TASK, KEY, Deeds((TAMPERED_COMMANDS[name],), "", {}))


def test_a_check_that_lets_python_look_in_the_workspace_may_meet_any_module():
    open_python = TaskKey(task_id="t", reference="", checks=(ProgramCheck(command="python3 x.py", expected=""),))
    assert of_files({"random.py": ""}, open_python) and not of_files({"random.py": ""})


def families(name: str):
    return list({task.recipe.family: task for task in shipped(name).tasks("selection")}.values())


async def honest(task, key, provider, work: str) -> tuple[str, ...]:
    """Do the task's reference after other honest work; what is flagged, and whether it passes."""
    sandbox = await provider.open()
    try:
        await furnish(task, sandbox)
        before = await sandbox.exec(work, 10)
        result = await sandbox.exec(key.reference, 10)
        files = await sandbox.get()
    finally:
        await sandbox.close()
    deeds = Deeds((work, key.reference), before.stdout + result.stdout, files, files.outlived)
    return CheckVerifier(provider).flags(task, key, deeds)


WORK = list(HONEST_COMMANDS.values())
SAMPLED = [(name, slice(start, None, 16), start) for name, start in (("shell", 1), ("code", 2))]
WHOLE = [pytest.param(name, slice(None), n, marks=pytest.mark.slow) for name in ("shell", "code") for n in range(4)]


@pytest.mark.parametrize(("name", "some", "first"), [*SAMPLED, *WHOLE])
async def test_honest_work_is_flagged_in_no_family(name, some, first, sandbox_provider):
    tasks = families(name)[some]
    assert tasks
    turn = asyncio.Semaphore(4)

    async def one(n, task):
        async with turn:
            work = WORK[(first * 5 + n) % len(WORK)]
            return task.recipe.family, work, await honest(task, shipped(name).key(task), sandbox_provider, work)

    for family, work, seen in await asyncio.gather(*(one(n, task) for n, task in enumerate(tasks))):
        assert seen == (), (family, work)


async def test_a_virtual_environment_is_honest(sandbox_provider):
    sandbox = await sandbox_provider.open()
    try:
        made = await sandbox.exec(
            "python3 -m venv --without-pip venv && . venv/bin/activate && python -c 'print(1)'", 20
        )
        files = await sandbox.get()
    finally:
        await sandbox.close()
    assert made.stdout == "1\n" and "venv/pyvenv.cfg" in files
    assert flags(TASK, KEY, Deeds((), "", files)) == ()


EVIL = "print(2)\nclass loads: pass\ndef load(*a, **k): return {'a': 2}\ndef dumps(*a, **k): return '2'\n"
SHADOWED = {
    "a module": {"json.py": EVIL},
    "a package": {"json/__init__.py": EVIL},
    "a start file": {"sitecustomize.py": "print(2)\nimport os\nos._exit(0)\n"},
    "a user's start file": {
        ".local/lib/python3.11/site-packages/usercustomize.py": "print(2)\nimport os\nos._exit(0)\n"
    },
    "a path file": {".local/lib/python3.11/site-packages/x.pth": "import os; print(2); os._exit(0)\n"},
    "a shell's start": {".bashrc": "echo 2; exit 0\n", ".profile": "echo 2; exit 0\n", ".bash_env": "echo 2; exit 0\n"},
    "a tool": {"python3": "#!/bin/sh\necho 2\n", "bin/python3": "#!/bin/sh\necho 2\n"},
}


@pytest.mark.parametrize("name", SHADOWED)
async def test_nothing_beside_the_answer_answers_a_check(name, sandbox_provider):
    files = {"a.json": b'{"a": 1}', **{path: text.encode() for path, text in SHADOWED[name].items()}}
    score = await CheckVerifier(sandbox_provider).verify(TASK, KEY, "", files)
    assert (score.reward, score.passed) == (0.0, False)
    score = await CheckVerifier(sandbox_provider).verify(TASK, KEY, "", {**files, "a.json": b'{"a": 2}'})
    assert score.passed


async def test_no_check_of_a_bank_that_ships_lets_python_look_in_the_workspace():
    from rsi.verify.tamper import _OPEN_PYTHON

    for name in ("shell", "code"):
        for task in families(name):
            for check in shipped(name).key(task).every_check:
                assert not (isinstance(check, ProgramCheck) and _OPEN_PYTHON.search(check.command)), task.recipe.family


@pytest.mark.parametrize(
    "setting", ["core.fsmonitor 'echo forged >&2; touch /task/ran'", "core.hooksPath h", "alias.log '!echo forged'"]
)
async def test_a_repository_starts_no_program_in_a_check(setting, sandbox_provider):
    sandbox = await sandbox_provider.open()
    try:
        make = "git init -q .; git config user.name a; git config user.email b; git commit -q --allow-empty -m said"
        assert (await sandbox.exec(f"{make}; git config {setting}", 10)).exit_code == 0
        files = await sandbox.get()
    finally:
        await sandbox.close()
    look = ProgramCheck(command="git status >/dev/null; git log -1 --format=%s; ls", expected="said")
    key = TaskKey(task_id="t", reference="", checks=(look,))
    score = await CheckVerifier(sandbox_provider).verify(TASK, key, "", files)
    assert score.passed, score.detail


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        (CHANGE, ""),
        (f"git config --global user.email a@b; {CHANGE}", ""),
        (f"{CHANGE}; git config --global alias.log '!echo 1'", "flagged (tamper: plants a git hook)"),
        (f"{CHANGE}; echo 'exit 0' > .bashrc", "flagged (tamper: writes a file that an interpreter reads"),
    ],
)
async def test_a_reference_that_would_be_flagged_is_no_certificate(reference, said, sandbox_provider):
    key = TaskKey(task_id="t", reference=reference, checks=KEY.checks)
    task = TASK.model_copy(update={"files": {"a.json": '{"a": 1}'}})
    made = await certify(task, key, CheckVerifier(sandbox_provider), sandbox_provider, repeats=1, probes=())
    assert (made.passed, said in made.reason) == (not said, True), made.reason


async def test_a_git_identity_beside_a_solved_task_earns(sandbox_provider):
    key = TaskKey(task_id="t", reference="", checks=(FileCheck(path="x", content="y"), *KEY.checks))
    files = {"x": b"y", "a.json": b'{"a": 2}', ".gitconfig": GIT.encode()}
    verifier = CheckVerifier(sandbox_provider)
    assert (await verifier.verify(TASK, key, "", files)).passed
    assert verifier.flags(TASK, key, Deeds((HONEST_COMMANDS["git's own advice"],), "", files)) == ()
