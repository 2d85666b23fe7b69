"""Hazard 9: every task proves itself without a model; what cannot is named with its reason."""

import pytest

from rsi.banks.certify import certify
from rsi.banks.check import check_bank
from rsi.banks.generated import GeneratedBank
from rsi.errors import InfrastructureError
from rsi.types import FileCheck, OutputCheck, Recipe, Task, TaskKey
from rsi.verify.checks import CheckVerifier


def task(files: dict[str, str] | None = None, needs_sandbox: bool = True) -> Task:
    return Task(
        id="t",
        bank="b",
        recipe=Recipe(family="f"),
        split="train",
        instance=1,
        request="Do it.",
        files=files or {},
        needs_sandbox=needs_sandbox,
    )


def key(reference: str, *checks) -> TaskKey:
    return TaskKey(task_id="t", reference=reference, checks=checks)


async def test_one_task_of_every_family_is_certified(bank: GeneratedBank, sandbox_provider):
    verifier, seen = CheckVerifier(sandbox_provider), set()
    for one in bank.tasks("sealed"):
        if one.recipe.family not in seen:
            seen.add(one.recipe.family)
            certificate = await certify(one, bank.key(one), verifier, sandbox_provider, repeats=1)
            assert certificate.passed, (one.request, certificate.reason)
    assert seen == set(bank.definition.families)


@pytest.mark.slow
async def test_every_task_and_difficulty_is_certified(bank: GeneratedBank, sandbox_provider):
    verifier = CheckVerifier(sandbox_provider)
    rows = await check_bank(bank, verifier, sandbox_provider)
    assert sum(row.tasks for row in rows) > 500 - 300 * (bank.definition.name == "reason")
    assert not [problem for row in rows for problem in row.problems]
    for family in bank.open_families:
        for difficulty in (2, 3):
            one = bank.make(Recipe(family=family, difficulty=difficulty), 1, "train")
            certificate = await certify(one, bank.key(one), verifier, sandbox_provider, repeats=2)
            assert certificate.passed, (one.request, certificate.reason)


async def test_bad_tasks_are_told_with_the_reason(sandbox_provider):
    verifier = CheckVerifier(sandbox_provider)

    async def reason(one: Task, its: TaskKey) -> str:
        certificate = await certify(one, its, verifier, sandbox_provider)
        assert certificate.passed == (not certificate.reason)
        return certificate.reason

    assert await reason(task(), key("echo 4", OutputCheck(expected="4"))) == ""
    assert "reference does not pass" in await reason(task(), key("echo 5", OutputCheck(expected="4")))
    left_alone = key("true", FileCheck(path="a", content="x"))
    assert await reason(task({"a": "x"}), left_alone) == "doing nothing passes"
    assert "reference does not pass" in await reason(task(), key("ln -s /etc/passwd a", OutputCheck(expected="")))


async def test_a_flaky_reference_is_quarantined(sandbox_provider):
    """A reference that passes every second time: the answer's own file says which time it is."""

    class Alternating(CheckVerifier):
        calls = 0

        async def verify(self, task, key, output, files):
            self.calls += bool(output)
            flaky = "" if self.calls % 2 == 0 else output
            return await super().verify(task, key, flaky, files)

    answer = task(needs_sandbox=False)
    certificate = await certify(answer, key("4", OutputCheck(expected="4")), Alternating(None), None)
    assert not certificate.repeats_agree
    assert "3 repeats disagree" in certificate.reason


async def test_no_sandbox_is_not_the_tasks_fault():
    with pytest.raises(InfrastructureError, match="needs a sandbox"):
        await certify(task(), key("echo 4", OutputCheck(expected="4")), CheckVerifier(None), None)


async def test_check_bank_reports_rows_and_progress(bank: GeneratedBank):
    if bank.definition.needs_sandbox:
        pytest.skip("the slow test checks it")
    seen = []
    rows = await check_bank(bank, CheckVerifier(None), None, progress=lambda done, total: seen.append((done, total)))
    assert all(row.passed == row.tasks and not row.problems for row in rows)
    assert {row.family for row in rows if row.held_out} == set(bank.definition.families) - set(bank.open_families)
    assert seen[-1][0] == seen[-1][1] == sum(row.tasks for row in rows)
