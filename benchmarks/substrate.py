"""Turns and answers of discrete calls against the repl protocol, under scripted policies in real bubblewrap sandboxes.

Dependent calls: each call needs what the last one gave. Observe before commit: what is right to commit second stands in
words in the result of the first, so a policy that writes both into one block is wrong where the result is not the usual
one. That policy is played with the rule (tools that commit are declared so) and without it. The policies are scripts
that make no slips of their own: this measures the substrate, not a model.
"""

import asyncio
import json
import random
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.report import Goal, finish, mean, quick, ratio
from rsi.harness import Episode, run_episode
from rsi.harness.repl import Tool
from rsi.sandbox.bubblewrap import Bubblewrap
from rsi.types import Budgets, Completion, HarnessConfig, Message, ModelRequest, Recipe, Sampling, Task

CONCURRENCY = 4
Policy = Callable[[Sequence[Message]], str]
HARNESS = HarnessConfig(
    document_digest="substrate",
    system="Use the tools.",
    protocol="repl",
    budgets=Budgets(turns=50, tokens=32_768, seconds=120),
    sampling=Sampling(max_new_tokens=2000),
)


class Scripted:
    """ModelBackend that says what a policy says to the messages; a token a byte."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy

    async def generate(self, request: ModelRequest) -> Completion:
        text = self._policy(request.messages)
        prompt = "".join(f"\n{message.role}: {message.content}" for message in request.messages) + "\nassistant: "
        ids = tuple(text.encode())
        return Completion(
            text=text,
            prompt_ids=tuple(prompt.encode()),
            token_ids=ids,
            logprobs=(0.0,) * len(ids),
            policy_version="script",
            finish="stop",
        )

    async def close(self) -> None:
        """Nothing is held."""


def call(name: str, **arguments: Any) -> str:
    return f"```call {name}\n{json.dumps(arguments)}\n```"


def python(code: str) -> str:
    return f"```python\n{code}\n```"


def replies(messages: Sequence[Message]) -> list[str]:
    """What came of each action so far."""
    at = [index for index, message in enumerate(messages) if message.role == "assistant"]
    return [messages[index + 1].content for index in at if index + 1 < len(messages)]


@dataclass(frozen=True)
class Chain:
    """A walk of `steps` look-ups whose next key is in the last result; the answer is the sum of the values."""

    seed: int

    def links(self) -> list[tuple[str, int]]:
        rng = random.Random(self.seed)
        return [(f"{rng.randrange(16**8):08x}", rng.randrange(100)) for _ in range(rng.randint(12, 24))]

    @property
    def answer(self) -> str:
        return str(sum(value for _, value in self.links()))

    def tools(self) -> list[Tool]:
        links = self.links()
        after = [*(key for key, _ in links[1:]), None]
        table = {key: {"value": value, "next": then} for (key, value), then in zip(links, after, strict=True)}

        async def look(arguments: Mapping[str, Any]) -> Any:
            return table[str(arguments["key"])]

        return [Tool("look", "value and next key", look, idempotent=True)]

    def discrete(self, messages: Sequence[Message]) -> str:
        seen = [json.loads(text) for text in replies(messages)]
        if seen and seen[-1]["next"] is None:
            return f"<answer>{sum(result['value'] for result in seen)}</answer>"
        return call("look", key=seen[-1]["next"] if seen else self.links()[0][0])

    def repl(self, messages: Sequence[Message]) -> str:
        if seen := replies(messages):
            return f"<answer>{seen[-1]}</answer>"
        key = self.links()[0][0]
        return python(f"key, total = {key!r}, 0\nwhile key:\n    r = look(key=key)\n    total += r['value']\n"
                      "    key = r['next']\nprint(total)")  # fmt: skip


NOTES = ("held: confirm with code {code}", "moved to seat {code}: cancel it", "held twice: confirm both as {code}")


class Booking:
    """Reserve a seat, then confirm or cancel as the note of the reservation says. `done` is what was committed."""

    def __init__(self, seed: int, declared: bool) -> None:
        rng = random.Random(f"booking {seed}")
        self.code, self.note = f"{rng.randrange(10_000):04d}", NOTES[0 if rng.random() < 0.5 else rng.randint(1, 2)]
        self.declared, self.done = declared, list[tuple[str, str]]()

    @property
    def passed(self) -> bool:
        return self.done == [("reserve", "A1"), self._right(self.note.format(code=self.code))]

    def tools(self) -> list[Tool]:
        def tool(name: str) -> Tool:
            async def run(arguments: Mapping[str, Any]) -> Any:
                self.done.append((name, str(arguments["of"])))
                return {"note": self.note.format(code=self.code) if name == "reserve" else "done"}

            return Tool(name, f"{name} of a seat or code", run, commits=self.declared)

        return [tool("reserve"), tool("confirm"), tool("cancel")]

    @staticmethod
    def _right(note: str) -> tuple[str, str]:
        """The second commit, as who reads the note makes it."""
        (code,) = re.findall(r"\b\d{4}\b", note)
        return ("cancel" if "cancel" in note else "confirm"), f"{code}x2" if "both" in note else code

    def discrete(self, messages: Sequence[Message]) -> str:
        seen = replies(messages)
        if not seen:
            return call("reserve", of="A1")
        if len(seen) == 1:
            name, of = self._right(seen[0])
            return call(name, of=of)
        return "<answer>done</answer>"

    def eager(self, messages: Sequence[Message]) -> str:
        """Both commits in one block, as if the usual note came; corrects itself where the second was refused."""
        seen = replies(messages)
        if not seen:
            return python("n = reserve(of='A1')['note']\nprint(n)\nprint(confirm(of=n[-4:]))")
        if len(seen) == 1 and "was not called" in seen[0]:
            name, of = self._right(seen[0].splitlines()[0])
            return python(f"print({name}(of={of!r}))")
        return "<answer>done</answer>"


async def play(provider: Bubblewrap, policy: Policy, tools: Sequence[Tool], seed: int) -> Episode:
    recipe = Recipe(family="substrate")
    task = Task(id=f"s{seed}", bank="substrate", recipe=recipe, split="train", instance=seed, request="Go.")
    sandbox = await provider.open()
    try:
        return await run_episode(task, HARNESS, Scripted(policy), sandbox, seed, None, tools)
    finally:
        await sandbox.close()


async def measure(n: int) -> int:
    provider = Bubblewrap()
    turns = {arm: [0.0] * n for arm in ("discrete", "repl")}
    right = {arm: [0.0] * n for arm in ("discrete", "repl")}
    commits = {arm: [0.0] * n for arm in ("discrete", "repl", "unruled")}
    slots = asyncio.Semaphore(CONCURRENCY)

    async def one(seed: int) -> None:
        async with slots:
            chain = Chain(seed)
            for arm, policy in (("discrete", chain.discrete), ("repl", chain.repl)):
                episode = await play(provider, policy, chain.tools(), seed)
                turns[arm][seed] = float(episode.cost.turns)
                right[arm][seed] = float(episode.output.strip() == chain.answer)
            for arm, declared in (("discrete", True), ("repl", True), ("unruled", False)):
                booking = Booking(seed, declared)
                await play(provider, booking.discrete if arm == "discrete" else booking.eager, booking.tools(), seed)
                commits[arm][seed] = float(booking.passed)

    await asyncio.gather(*(one(seed) for seed in range(n)))
    gap = [repl - discrete for repl, discrete in zip(commits["repl"], commits["discrete"], strict=True)]
    figures = [
        mean("turns, discrete", "turns", turns["discrete"]),
        mean("turns, repl", "turns", turns["repl"]),
        ratio("turns, repl / discrete", turns["repl"], turns["discrete"]),
        mean("right, discrete", "share", right["discrete"]),
        mean("right, repl", "share", right["repl"]),
        mean("commits right, discrete", "share", commits["discrete"]),
        mean("commits right, repl with the rule", "share", commits["repl"]),
        mean("commits right, repl without it", "share", commits["unruled"]),
        mean("commits right, repl - discrete", "share", gap),
    ]
    goals = [
        Goal("turns, repl / discrete", at_most=0.2),
        Goal("right, discrete", at_least=1),
        Goal("right, repl", at_least=1),
        Goal("commits right, repl - discrete", at_least=0),
    ]
    return finish("substrate", figures, goals)


if __name__ == "__main__":
    sys.exit(asyncio.run(measure(20 if quick(__doc__ or "") else 60)))
