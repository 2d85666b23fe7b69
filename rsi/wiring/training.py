"""Training through the production harness: the rollout that travels to the training process, and the engine's absence
while the learner samples."""

import asyncio
import functools
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from typing import Any

from rsi.config import home
from rsi.ports import ModelBackend, Rollout, SandboxProvider, Store, TaskBank, Trainer
from rsi.rollouts.episode import Parts, play
from rsi.rollouts.record import make_spec
from rsi.sandbox.pooled import Pooled
from rsi.sandbox.probe import Kind, kind_of, make
from rsi.types import AdapterRevision, Attempt, HarnessConfig, Job, OpenTask, Pair, Task, TaskKey, TrainDraw, TrainSpec
from rsi.verify.checks import CheckVerifier
from rsi.wiring.browser import BrowserJudge

WARM = 2  # containers that a rollout process keeps ready: one takes 0.2 s and more to start, bubblewrap 0.02


@functools.cache
def process_provider(kind: Kind) -> SandboxProvider | None:
    """This process's own provider, of the kind that the run's place has: clients never travel."""
    return make(kind)


def make_parts(model: ModelBackend, kind: Kind, allow_env: tuple[str, ...] = ()) -> Parts:
    """Model, sandboxes and verifier of one worker process. Picklable as a partial, for `model` is a client."""
    provider = process_provider(kind)
    return Parts(model, provider, CheckVerifier(provider, BrowserJudge()), allow_env, home() / "outputs")


def executor_parts(model: ModelBackend, kind: Kind, allow_env: tuple[str, ...] = ()) -> Parts:
    """Parts of a process that plays until it is closed: containers then stand ready before an episode asks."""
    parts = make_parts(model, kind, allow_env)
    if kind != "docker" or parts.provider is None:
        return parts
    pool = Pooled(parts.provider, WARM)
    return replace(parts, provider=pool, verifier=CheckVerifier(pool, BrowserJudge()), close=pool.close)


@dataclass(frozen=True)
class TrainingRollout:
    """ports.Rollout: plays training draws as evaluation plays attempts. Keys travel to the process that verifies."""

    pair: Pair
    harness: HarnessConfig
    tasks: Mapping[str, tuple[Task, TaskKey]]
    purpose: str
    sandbox: str  # identity, or "none"
    concurrency: int
    retries: int
    allow_env: tuple[str, ...] = ()

    async def __call__(self, draws: Sequence[TrainDraw], model: ModelBackend) -> Sequence[Attempt]:
        parts = make_parts(model, kind_of(self.sandbox), self.allow_env)
        gate = asyncio.Semaphore(self.concurrency)

        async def one(job: Job) -> Attempt:
            async with gate:
                return await play(job, parts, self.retries)

        return await asyncio.gather(*(one(self._job(draw)) for draw in draws))

    def ids(self, draws: Sequence[TrainDraw]) -> Sequence[str]:
        return [self._job(draw).spec.digest for draw in draws]

    def _job(self, draw: TrainDraw) -> Job:
        task, key = self.tasks[draw.task_id]
        spec = make_spec(task, self.pair, f"{self.purpose}/{draw.policy_version}", draw.draw, self.sandbox)
        return Job(spec=spec, task=task, key=key, harness=self.harness)


@dataclass(frozen=True)
class Rollouts:
    """ports.RolloutFactory for one bank and machine."""

    bank: TaskBank
    scope: str  # what all purposes of the lineage begin with
    sandbox: str
    concurrency: int
    retries: int
    allow_env: tuple[str, ...] = ()

    def __call__(self, pair: Pair, harness: HarnessConfig, tasks: Sequence[OpenTask], purpose: str) -> Rollout:
        keyed = {task.id: (task, self.bank.key(task)) for task in tasks}
        scoped = f"{self.scope}/{purpose}"
        return TrainingRollout(
            pair, harness, keyed, scoped, self.sandbox, self.concurrency, self.retries, self.allow_env
        )


@dataclass(frozen=True)
class LearnerSamples:
    """A trainer while whose work the engine is unloaded: the learner's own module is the sampler. `allow(steps)` may
    raise where the run's budget of training steps is spent."""

    trainer: Trainer
    engine_absent: Callable[[], AbstractAsyncContextManager[None]]
    allow: Callable[[int], None]

    async def train(
        self, spec: TrainSpec, rollout: Rollout, store: Store, progress: Callable[[str, int, int], None]
    ) -> AdapterRevision:
        self.allow(spec.settings.steps)
        async with self.engine_absent():
            return await self.trainer.train(spec, rollout, store, progress)


def learner_backend(model: Any, tokenizer: Any, policy_version: Callable[[], str], max_batch: int) -> ModelBackend:
    """The engine over the learner's module as it stands."""
    from rsi.models.embedded.engine import Engine, EngineSettings

    return Engine(model, tokenizer, EngineSettings(policy_version=policy_version, live=True, max_batch=max_batch))
