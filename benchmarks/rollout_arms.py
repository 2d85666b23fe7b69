"""Whole attempts for the throughput benchmark: the production loop on the scripted model, three commands an episode.

What Ray workers make their parts from stands here, at module level, so that it travels by name.
"""

import functools
import itertools
from collections.abc import Callable, Iterator, Sequence

from benchmarks.plain_sandbox import PlainProvider
from rsi.models.scripted import Rule, ScriptedModel, Table
from rsi.ports import SandboxProvider
from rsi.rollouts import Parts, make_spec
from rsi.sandbox.bubblewrap import Bubblewrap
from rsi.types import Budgets, FileCheck, HarnessConfig, Job, OutputCheck, Pair, Recipe, Task, TaskKey
from rsi.verify.checks import CheckVerifier

REQUEST = "Which of 3, 1 and 2 is the largest?"
PAIR = Pair(base="scripted", hcp="three commands")
HARNESS = HarnessConfig(document_digest=PAIR.hcp, system="Use the shell.", budgets=Budgets(turns=3, tokens=1000))


def parts(confined: bool, commands: Sequence[str]) -> Parts:
    """The scripted model types `commands` one after the other, in a plain or a bubblewrap sandbox."""
    provider: SandboxProvider = Bubblewrap() if confined else PlainProvider()
    rules = [Rule(contains=REQUEST, replies=((_typed(commands[0]), 1),))]
    for before, command in itertools.pairwise(reversed(commands)):
        # The later rule first: the earlier commands stand in the conversation then, too.
        rules.insert(len(rules) - 1, Rule(needs=command, replies=((_typed(before), 1),)))
    return Parts(ScriptedModel(Table(rules=tuple(rules))), provider, CheckVerifier(provider))


def _typed(command: str) -> str:
    return f"```sh\n{command}\n```\n"


def factory(confined: bool, commands: Sequence[str]) -> Callable[[], Parts]:
    return functools.partial(parts, confined, tuple(commands))


def make_jobs(numbers: Iterator[int], sandbox: str, n: int) -> list[Job]:
    """`n` jobs never made before; each ends with the right output and file, or is scored 0, in sandbox `sandbox`."""
    return [_job(next(numbers), sandbox) for _ in range(n)]


def _job(number: int, sandbox: str) -> Job:
    task = Task(
        id=f"largest-{number}", bank="benchmark", recipe=Recipe(family="largest"), split="train", instance=number,
        request=REQUEST,
    )  # fmt: skip
    checks = (OutputCheck(expected="3"), FileCheck(path="sorted", content="1\n2\n3\n"))
    key = TaskKey(task_id=task.id, reference="", checks=checks)
    return Job(spec=make_spec(task, PAIR, "benchmark", 0, sandbox), task=task, key=key, harness=HARNESS)
