"""A small world to roll out in: tasks that ask for a number, and a model that needs luck or trouble to find it."""

import asyncio
import os
import random
import signal
from pathlib import Path

from benchmarks.plain_sandbox import PlainProvider, PlainSandbox
from rsi.errors import InfrastructureError, TamperError, UserError
from rsi.rollouts import Parts
from rsi.types import (
    Budgets,
    Completion,
    HarnessConfig,
    OutputCheck,
    Pair,
    Recipe,
    Task,
    TaskKey,
)
from rsi.verify.checks import CheckVerifier

HARNESS = HarnessConfig(document_digest="hcp", system="S", budgets=Budgets(turns=1, tokens=200))
PAIR = Pair(base="base", adapters={"agent": "revision"}, hcp="hcp")


def make_task(n: int, needs_sandbox: bool = True) -> Task:
    return Task(
        id=f"task-{n}",
        bank="toy",
        recipe=Recipe(family=f"family-{n % 2}"),
        split="train",
        instance=n,
        request=f"Print the number in n.txt ({n}).",
        files={"n.txt": f"{n}\n"} if needs_sandbox else {},
        needs_sandbox=needs_sandbox,
    )


class ToyBank:
    digest = "toy"

    def key(self, task: Task) -> TaskKey:
        check = OutputCheck(expected=str(task.instance))
        return TaskKey(task_id=task.id, reference="cat n.txt", checks=(check,))


class ToyModel:
    """Answers right in half of its draws, as the seed says. `seconds` is what a turn takes."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds, self.calls = seconds, 0

    async def generate(self, request):
        self.calls += 1
        await asyncio.sleep(self.seconds)
        right = random.Random(request.seed).random() < 0.5
        text = "```sh\ncat n.txt\n```" if right else "no idea"
        prompt = (*request.prefix_ids, *request.messages[-1].content.encode())
        ids = tuple(text.encode())
        return Completion(
            text=text,
            prompt_ids=prompt,
            token_ids=ids,
            logprobs=(-0.5,) * len(ids),
            policy_version=request.adapter or "base",
            finish="stop",
        )

    async def close(self):
        pass


class Failing(ToyModel):
    """Raises `error` in its first `times` calls."""

    def __init__(self, error: Exception, times: int) -> None:
        super().__init__()
        self.error, self.times = error, times

    async def generate(self, request):
        if self.calls < self.times:
            self.calls += 1
            raise self.error
        return await super().generate(request)


class Forging(PlainSandbox):
    async def get(self, limit=16_000_000):
        raise TamperError("link leaves /task: x -> /etc")


class Tracking(PlainProvider):
    """Knows the sandboxes it opened; the first `broken` openings fail."""

    def __init__(self, kind=PlainSandbox, broken: int = 0) -> None:
        self.kind, self.broken, self.opened = kind, broken, []

    async def open(self):
        if self.broken:
            self.broken -= 1
            raise InfrastructureError("no room for a sandbox")
        plain = await super().open()
        self.opened.append(self.kind(plain.folder))
        return self.opened[-1]


def toy_parts(model=None, provider=None) -> Parts:
    provider = provider or Tracking()
    return Parts(model or ToyModel(), provider, CheckVerifier(provider))


class Dying(ToyModel):
    """Ends its own process once, in its tenth call: `mark` is a file that says it has happened."""

    def __init__(self, mark: Path) -> None:
        super().__init__(0.02)
        self.mark = mark

    async def generate(self, request):
        if self.calls == 9 and not self.mark.exists():
            self.mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return await super().generate(request)


def dying_parts(mark: Path) -> Parts:
    return toy_parts(Dying(mark))


def slow_parts() -> Parts:
    return toy_parts(ToyModel(0.05))


def always_dying_parts() -> Parts:
    class Always(ToyModel):
        async def generate(self, request):
            os.kill(os.getpid(), signal.SIGKILL)

    return toy_parts(Always())


def wrong_parts() -> Parts:
    raise UserError("model 'x': no such folder; run `rsi model fetch`")
