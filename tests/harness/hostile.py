"""Attempts of whatever a model may write, played whole: real sandbox, real verifier, and back from a real store."""

from itertools import chain, repeat

from rsi.registry.engine import open_database
from rsi.registry.lease import acquire
from rsi.registry.store import SqlStore
from rsi.rollouts.episode import Parts, play
from rsi.types import (
    AttemptSpec,
    Budgets,
    Completion,
    DeclaredOutput,
    HarnessConfig,
    Job,
    OutputCheck,
    Recipe,
    Task,
    TaskKey,
    Termination,
    ToolCall,
)
from rsi.verify.checks import CheckVerifier

KEPT = DeclaredOutput(name="all", path=".", max_files=100, max_file_bytes=100_000, max_total_bytes=1_000_000)


class Says:
    """ModelBackend that says any text, and makes any native calls: (name, arguments). Its last reply is repeated."""

    def __init__(self, *replies):
        self.replies = chain(replies, repeat(replies[-1]))

    async def generate(self, request):
        said = next(self.replies)
        text, calls = (said, ()) if isinstance(said, str) else ("", said)
        made = tuple(
            ToolCall.model_construct(id=f"c{n}", name=name, arguments=arguments)
            for n, (name, arguments) in enumerate(calls)
        )
        return Completion.model_construct(
            text=text, prompt_ids=(), token_ids=(-1,) * 20, logprobs=(), policy_version="v", finish="stop",
            tool_calls=made,
        )  # fmt: skip

    async def close(self):
        pass


async def play_hostile(provider, protocol, *replies, turns=3, seconds=4, outputs=None, **fields):
    """The attempt, which must be scored and come back from the store as it was."""
    task = Task(id="t", bank="b", recipe=Recipe(family="f"), split="train", instance=0, request="Print 3.")
    key = TaskKey(task_id="t", reference="echo 3", checks=(OutputCheck(expected="3"),))
    spec = AttemptSpec(task_id="t", pair="p", purpose="main/hostile", draw=0, sandbox=provider.identity, seed=1)
    harness = HarnessConfig(
        document_digest="d", system="s", protocol=protocol, tools=("shell", "read", "write"), outputs=(KEPT,),
        budgets=Budgets(turns=turns, tokens=5000, seconds=seconds), **fields,
    )  # fmt: skip
    job = Job(spec=spec, task=task, key=key, harness=harness)
    attempt = await play(job, Parts(Says(*replies), provider, CheckVerifier(provider), outputs=outputs))
    assert attempt.score is not None and attempt.termination is not Termination.INFRASTRUCTURE, attempt.error
    database = open_database("sqlite://")
    try:
        store = SqlStore(database, acquire(database, "main"))
        store.record(attempt)
        assert store.get([attempt.id]) == {attempt.id: attempt}
    finally:
        database.close()
    return attempt
