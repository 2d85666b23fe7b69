"""The verifier judges what was left behind, and never scores its own failure."""

import pytest

from rsi.errors import InfrastructureError, IntegrityError
from rsi.types import Check, FileCheck, OutputCheck, ProgramCheck, Recipe, Task, TaskKey
from rsi.verify.checks import CheckVerifier

TASK = Task(id="t", bank="b", recipe=Recipe(family="f"), split="train", instance=1, request="Do it.")


def key(*checks: Check) -> TaskKey:
    return TaskKey(task_id="t", reference="true", checks=checks)


async def passes(check: Check, output: str = "", files: dict[str, bytes] | None = None) -> bool:
    score = await CheckVerifier(None).verify(TASK, key(check), output, files or {})
    assert score.reward == float(score.passed)
    assert bool(score.detail) != score.passed
    return score.passed


async def test_output_and_files():
    assert await passes(OutputCheck(expected="4", mode="numeric"), "4\n")
    assert not await passes(OutputCheck(expected="4"), "5")
    assert await passes(FileCheck(path="a/b.txt", content="x\n"), files={"a/b.txt": b"x"})
    assert not await passes(FileCheck(path="a.txt", content="x"), files={"a.txt": b"x y"})
    assert not await passes(FileCheck(path="a.txt", content="x"))
    assert not await passes(FileCheck(path="a.txt", content="\u00ff"), files={"a.txt": b"\xff"})  # not UTF-8
    assert await passes(FileCheck(path="a.txt", content=None))
    assert not await passes(FileCheck(path="a.txt", content=None), files={"a.txt": b""})


async def test_all_checks_must_pass():
    verifier = CheckVerifier(None)
    both = key(OutputCheck(expected="4"), FileCheck(path="a.txt", content="4"))
    assert (await verifier.verify(TASK, both, "4", {"a.txt": b"4"})).passed
    assert (await verifier.verify(TASK, both, "4", {})).reward == 0.0
    assert (await verifier.verify(TASK, both, "", {"a.txt": b"4"})).reward == 0.0


async def test_another_tasks_key_and_an_empty_key_are_no_scores():
    other = TaskKey(task_id="u", reference="", checks=(OutputCheck(expected=""),))
    with pytest.raises(IntegrityError, match="key of task u"):
        await CheckVerifier(None).verify(TASK, other, "", {})
    with pytest.raises(IntegrityError, match="no checks"):
        await CheckVerifier(None).verify(TASK, key(), "", {})


async def test_a_program_check_without_a_sandbox_is_no_score():
    with pytest.raises(InfrastructureError, match="sandbox"):
        await passes(ProgramCheck(command="bash a.sh", expected="cat"))


async def test_a_broken_sandbox_is_no_score():
    class Broken:
        identity, limits = "broken", {}

        async def open(self):
            raise InfrastructureError("no more processes")

    with pytest.raises(InfrastructureError):
        await CheckVerifier(Broken()).verify(TASK, key(ProgramCheck(command="true", expected="")), "", {})


async def test_programs_run_on_a_copy_in_their_own_sandbox(sandbox_provider):
    verifier = CheckVerifier(sandbox_provider)
    check = key(ProgramCheck(command="bash a.sh", expected="cat"))

    async def score(body: bytes):
        return await verifier.verify(TASK, check, "cat", {"a.sh": body})

    assert (await score(b"echo cat")).passed
    assert not (await score(b"exit 0")).passed  # an early exit earns nothing
    assert not (await score(b"echo cat; exit 3")).passed
    assert not (await verifier.verify(TASK, check, "cat", {})).passed
