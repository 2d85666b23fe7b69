"""How a stage gets its attempts: recorded ones from the store, owed ones played and recorded before they count."""

from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, cast

from rsi.errors import IntegrityError
from rsi.ids import seed_of
from rsi.ports import Executor, Store, TaskBank
from rsi.rollouts.losses import Losses
from rsi.types import Attempt, AttemptSpec, HarnessConfig, Job, Pair, Task


@dataclass(frozen=True)
class Recording:
    """What drawing needs; its `draw` is the ports.Draw that stages take.

    `sandbox` is the provider's identity; `specialist` names the adapter that plays this bank.
    `spend(purpose, n)` is told of n attempts before they are played and may raise; `progress(purpose, done, total)`
    is called as they are recorded."""

    bank: TaskBank
    executor: Executor
    store: Store
    sandbox: str
    specialist: str
    spend: Callable[[str, int], None]
    progress: Callable[[str, int, int], None]
    losses: Losses = field(default_factory=Losses)

    def job(self, task: Task, pair: Pair, harness: HarnessConfig, purpose: str, draw: int) -> Job:
        """The job of one draw. Its key comes from the bank and goes to the verifier alone."""
        spec = make_spec(task, pair, purpose, draw, self.sandbox)
        adapter = pair.adapters.get(self.specialist)
        return Job(spec=spec, task=task, key=self.bank.key(task), harness=harness, adapter=adapter)

    async def draw(
        self, tasks: Sequence[Task], pair: Pair, harness: HarnessConfig, k: int, purpose: str
    ) -> Sequence[Sequence[Attempt]]:
        """See ports.Draw. Raises IntegrityError where `harness` is not the pair's."""
        if harness.document_digest != pair.hcp:
            raise IntegrityError(f"{purpose}: harness {harness.document_digest} is not of pair {pair.name}")
        ids = [[make_spec(task, pair, purpose, n, self.sandbox).digest for n in range(k)] for task in tasks]
        store = self.losses.counted(self.store, purpose)
        found = dict(store.get([id for row in ids for id in row]))
        owed = {
            id: self.job(task, pair, harness, purpose, n)
            for task, row in zip(tasks, ids, strict=True)
            for n, id in enumerate(row)
            if id not in found
        }
        await self._play(owed, found, store, purpose)
        return [[found[id] for id in row] for row in ids]

    async def replay(
        self, tasks: Sequence[Task], pair: Pair, harness: HarnessConfig, purpose: str
    ) -> Sequence[Attempt]:
        """The tasks' first draws, played again from the same seeds whatever is recorded. They are not recorded: they
        are what recorded ones are compared with."""
        jobs = [self.job(task, pair, harness, purpose, 0) for task in tasks]
        self.spend(purpose, len(jobs))
        async with aclosing(cast(Any, self.executor.run(jobs))) as attempts:
            return [attempt async for attempt in attempts]

    async def _play(self, owed: dict[str, Job], found: dict[str, Attempt], store: Store, purpose: str) -> None:
        """Play the owed jobs, record each, then add it to `found`."""
        if not owed:
            return
        self.spend(purpose, len(owed))
        total = len(found) + len(owed)
        self.progress(purpose, len(found), total)
        # `Any`: an executor's iterator is an async generator wherever it holds something to give back.
        async with aclosing(cast(Any, self.executor.run(list(owed.values())))) as attempts:
            async for attempt in attempts:
                store.record(attempt)
                found[attempt.id] = attempt
                self.progress(purpose, len(found), total)
        if missing := owed.keys() - found.keys():
            raise IntegrityError(f"{purpose}: the executor ended without {len(missing)} of {len(owed)} attempts")


def make_spec(task: Task, pair: Pair, purpose: str, draw: int, sandbox: str) -> AttemptSpec:
    """What identifies one draw. The seed leaves the pair out, so that two arms of a comparison share their seeds."""
    return AttemptSpec(
        task_id=task.id,
        pair=pair.digest,
        purpose=purpose,
        draw=draw,
        sandbox=sandbox if task.needs_sandbox else "none",
        seed=seed_of(task.id, purpose, draw),
    )
