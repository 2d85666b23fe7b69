"""The real bank, the real sandbox, the real verifier: only the model is played, by the references or by silence."""

from pathlib import Path

import pytest
from shipped_banks import shipped

from rsi.hcp import load
from rsi.registry.engine import open_database
from rsi.registry.lease import acquire
from rsi.registry.store import SqlStore
from rsi.rollouts import LocalExecutor, Parts, Recording
from rsi.sandbox.probe import probe
from rsi.types import Completion, Pair, Termination
from rsi.verify.checks import CheckVerifier

ROOT = Path(__file__).parents[2]


class Oracle:
    """Says what `replies` holds for the request that stands last."""

    def __init__(self, replies):
        self.replies = replies

    async def generate(self, request):
        text = self.replies.get(request.messages[-1].content, "")
        ids = tuple(text.encode())
        return Completion(
            text=text, prompt_ids=(1,), token_ids=ids, logprobs=(0.0,) * len(ids), policy_version="o", finish="stop"
        )

    async def close(self):
        pass


@pytest.mark.parametrize("name", ["shell", "reason"])
async def test_references_pass_and_silence_fails(name, tmp_path):
    provider, reasons = await probe("bubblewrap")
    if name == "shell" and provider is None:
        pytest.skip("; ".join(reasons))
    bank = shipped(name)
    harness = load(ROOT / "harness_configs" / name / "default.toml").harness()
    tasks = [*bank.tasks("train")[:6], *bank.tasks("sealed")[:2]]
    form = "```sh\n{}\n```" if name == "shell" else "<answer>{}</answer>"
    replies = {task.request: form.format(bank.key(task).reference) for task in tasks}
    pair = Pair(base="b", hcp=harness.document_digest)
    database = open_database(f"sqlite:///{tmp_path / 'rsi.db'}")
    store = SqlStore(database, acquire(database, "main"))

    async def drawn(model, purpose):
        executor = LocalExecutor(Parts(model, provider, CheckVerifier(provider)), concurrency=8, retries=0)
        identity = provider.identity if provider else "none"
        nothing = lambda *_: None  # noqa: E731
        draw = Recording(bank, executor, store, identity, "agent", nothing, nothing).draw
        return [attempt for group in await draw(tasks, pair, harness, 1, purpose) for attempt in group]

    for attempt in await drawn(Oracle(replies), "main/oracle"):
        assert attempt.passed and attempt.score.form == 1.0, (
            attempt.turns,
            attempt.output,
            attempt.score,
            attempt.error,
        )
    for attempt in await drawn(Oracle({}), "main/silence"):
        assert not attempt.passed and attempt.score.form == 0.0 and attempt.termination == Termination.NO_ACTION
