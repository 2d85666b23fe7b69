"""Hazard 9: every task proves itself without a model; what cannot is named with its reason."""

import asyncio
import random

import pytest
from shipped_banks import shipped

from rsi.banks.certificates import Certificates
from rsi.banks.certify import certify
from rsi.banks.check import check_bank, chosen, near
from rsi.banks.generated import GeneratedBank
from rsi.banks.probes import Probe, some
from rsi.errors import InfrastructureError
from rsi.types import Certificate, FileCheck, OutputCheck, ProgramCheck, Recipe, Task, TaskKey
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


def prover(verifier: CheckVerifier, provider):
    turn = asyncio.Semaphore(4)

    async def prove(one: Task, its: TaskKey) -> Certificate:
        async with turn:
            return await certify(one, its, verifier, provider)

    return prove


async def test_a_sample_of_each_bank_is_certified(bank: GeneratedBank, sandbox_provider):
    """A task of each family, of any split and level; all of them by `rsi bank check --all`."""
    prove, every = prover(CheckVerifier(sandbox_provider), sandbox_provider), chosen(bank, None)
    tasks = {one.recipe.family: one for one in random.Random(7).sample(every, len(every))}
    assert set(tasks) == set(bank.definition.families)
    for certificate in await asyncio.gather(*(prove(one, bank.key(one)) for one in tasks.values())):
        assert certificate.passed, certificate.reason
        assert certificate.repeats == 5
        assert certificate.sandbox.startswith("bubblewrap" if bank.definition.needs_sandbox else "none")


async def reason(one: Task, its: TaskKey, provider) -> str:
    certificate = await certify(one, its, CheckVerifier(provider), provider, repeats=2)
    assert certificate.passed == (not certificate.reason)
    return certificate.reason


async def test_bad_tasks_are_told_with_the_reason(sandbox_provider):
    cases = (
        (task(), key("echo 4", OutputCheck(expected="4"))),
        (task(), key("echo 5", OutputCheck(expected="4"))),
        (task({"a": "x"}), key("true", FileCheck(path="a", content="x"))),
        (task(), key("ln -s /etc/passwd a", OutputCheck(expected=""))),
    )
    good, wrong, idle, out_of_bounds = await asyncio.gather(*(reason(*case, sandbox_provider) for case in cases))
    assert good == ""
    assert wrong == "its reference does not pass"
    assert idle.startswith("doing nothing passes; answering with the request passes; a hack passes: ")
    assert "reference does not pass" in out_of_bounds


async def test_idleness_is_judged_in_the_furnished_workspace(sandbox_provider):
    """What the set-up makes would pass; the task's files alone would not."""
    made = task().model_copy(update={"setup": "echo x > a; chmod 600 a"})
    its = key("echo x > a", FileCheck(path="a", content="x", mode=0o600))
    assert "doing nothing passes" in await reason(made, its, sandbox_provider)


async def test_saying_the_request_back_earns_nothing(sandbox_provider):
    echo = key("Do it.", OutputCheck(expected="Do it."))
    assert await reason(task(needs_sandbox=False), echo, None) == "answering with the request passes"


async def test_a_verifier_that_a_hack_passes_is_found(sandbox_provider):
    """An early exit of the check's own interpreter, and a reward file that the check believes."""
    believes = key("echo 1 > reward.txt", ProgramCheck(command="cat reward.txt 2>/dev/null || echo 0", expected="1"))
    assert "a hack passes: a reward file" in await reason(task(), believes, sandbox_provider)


async def test_a_hack_that_breaks_the_sandbox_earns_nothing(sandbox_provider):
    class Broken(CheckVerifier):
        async def verify(self, task, key, output, files):
            if output == "broken\n":
                raise InfrastructureError("the sandbox is gone")
            return await super().verify(task, key, output, files)

    its, hacks = (
        key("echo 4444", OutputCheck(expected="4444")),
        (Probe("a break", "echo broken"), Probe("a guess", "echo 4")),
    )
    hacks = (*hacks, Probe("a copy", "echo 4444"))
    verifier = Broken(sandbox_provider)
    proof = await certify(task(), its, verifier, sandbox_provider, repeats=1, probes=hacks[:1])
    assert proof.passed
    proof = await certify(task(), its, verifier, sandbox_provider, repeats=1, probes=hacks)
    assert proof.reason == "a hack passes: a copy"
    guessed = key("echo 4", OutputCheck(expected="4"))
    assert (await certify(task(), guessed, verifier, sandbox_provider, repeats=1, probes=hacks)).passed


def test_each_task_meets_some_probes_and_the_bank_all():
    every = [Probe(str(n), "true") for n in range(20)]
    assert some("t", every, 3) == some("t", every, 3)
    assert {probe for n in range(60) for probe in some(str(n), every, 3)} == set(every)
    assert len(some("t", every[:2], 3)) == 2


async def test_a_task_that_cannot_be_set_up_is_quarantined(sandbox_provider):
    its = key("echo 4", OutputCheck(expected="4"))
    set_up = [task().model_copy(update={"setup": text}) for text in ("exit 3", "mkfifo pipe", "ln -s /etc/passwd out")]
    for one in (*set_up, task({"a": "x", "a/b": "y"})):
        assert await reason(one, its, sandbox_provider) == "its workspace cannot be set up"


@pytest.mark.parametrize("path", ["../a", "/a", "a/../../b", "", "a\nb"])
def test_no_record_holds_a_path_that_leaves(path: str):
    with pytest.raises(ValueError, match="stay in the workspace"):
        task({path: "x"})
    with pytest.raises(ValueError, match="stay in the workspace"):
        FileCheck(path=path, content=None)


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
    assert "5 repeats disagree" in certificate.reason


async def test_no_sandbox_is_not_the_tasks_fault():
    with pytest.raises(InfrastructureError, match="needs a sandbox"):
        await certify(task(), key("echo 4", OutputCheck(expected="4")), CheckVerifier(None), None)


async def test_check_bank_reports_rows_and_progress():
    seen, kept = [], []
    bank = shipped("reason")
    rows = await check_bank(
        bank, prover(CheckVerifier(None), None), None, kept.append, lambda done, total: seen.append((done, total))
    )
    assert all(row.passed == row.tasks and not row.problems for row in rows)
    assert {row.family for row in rows if row.held_out} == set(bank.definition.families) - set(bank.open_families)
    assert seen[-1][0] == seen[-1][1] == sum(row.tasks for row in rows) == len(kept)
    assert {task.recipe.difficulty for task in chosen(bank, None)} == {1, 2, 3}
    assert len(chosen(bank, 1)) == len(bank.definition.families) + 2 * len(bank.open_families)


def test_what_is_near_a_sealed_task_is_quarantined():
    proof = Certificate(
        task_id="t", passed=True, reference_passes=True, nothing_fails=True, repeats=5, repeats_agree=True
    )
    assert near(proof).reason == "near a sealed task"
    assert not near(proof).passed


def test_certificates_outlive_a_torn_line_and_another_protocol(tmp_path):
    path = tmp_path / "certificates" / "b.jsonl"
    proof = Certificate(
        task_id="t", passed=True, reference_passes=True, nothing_fails=True, repeats=5, repeats_agree=True
    )
    Certificates(path, "p").add([proof])
    with path.open("a") as file:
        file.write('{"protocol": "p", "task_id": "torn')
    again = Certificates(path, "p")
    assert again.get("t", "none") == proof
    assert again.get("t", "other sandbox") is None
    again.add([proof.model_copy(update={"task_id": "u"}), near(proof)])
    last = Certificates(path, "p")
    assert last.get("u", "none") is not None
    assert last.get("t", "none") == near(proof)  # the last word holds
    assert Certificates(path, "other").get("t", "none") is None
    assert path.stat().st_mode & 0o077 == 0
