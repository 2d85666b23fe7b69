"""Which groups a training step learns from: draw, take what is recorded, play what is owed, filter, back-fill.

Runs in the training process on its one event loop. Knows records and the rollout; neither torch nor TRL, so that the
rules can be tested without a model.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from rsi.ports import ModelBackend, Rollout
from rsi.types import Attempt, TrainDraw, TrainSpec
from rsi.update.select import FlatSample, check_expected, flatten, informative, training_reward


class Ledger(Protocol):
    """The driver's store as the training process reaches it. Both wait for the driver's answer."""

    def get(self, ids: Sequence[str]) -> Mapping[str, Attempt]: ...

    def record(self, attempts: Sequence[Attempt]) -> None:
        """Returns when all of them are durable."""


@dataclass(frozen=True)
class Sample:
    """A scored attempt with at least one sampled token."""

    reward: float
    passed: bool
    flat: FlatSample


@dataclass(frozen=True)
class StepGroups:
    """What a step drew. `accepted` groups have at least two samples whose rewards are not all equal."""

    accepted: tuple[tuple[Sample, ...], ...]
    filtered: tuple[tuple[Sample, ...], ...]  # rewards all equal: nothing to learn
    failed: int  # fewer than two scored attempts

    @property
    def submitted(self) -> int:
        return len(self.accepted) + len(self.filtered) + self.failed

    def metrics(self) -> dict[str, float]:
        samples = [sample for group in self.accepted + self.filtered for sample in group]
        count = max(1, len(samples))
        return {
            "reward_mean": sum(sample.reward for sample in samples) / count,
            "pass_rate": sum(sample.passed for sample in samples) / count,
            "samples": float(len(samples)),
            "submitted": float(self.submitted),
            "accepted": float(len(self.accepted)),
            "filtered": float(len(self.filtered)),
            "failed": float(self.failed),
        }


class GroupSource:
    """Draws the groups of a step from `spec.tasks`, in order and around again.

    What it draws depends on the step, the cursor and the recorded attempts alone, so a resumed step asks for the same
    draws and finds those that were recorded."""

    def __init__(self, spec: TrainSpec, rollout: Rollout, ledger: Ledger) -> None:
        self._spec = spec
        self._rollout = rollout
        self._ledger = ledger

    async def collect(self, step: int, cursor: int, model: ModelBackend) -> StepGroups:
        """`prompts_per_step` accepted groups where `backfill` extra ones suffice, else as many as there are.
        `cursor` counts the groups that earlier steps submitted."""
        settings = self._spec.settings
        accepted: list[tuple[Sample, ...]] = []
        filtered: list[tuple[Sample, ...]] = []
        submitted, most = 0, settings.prompts_per_step + settings.backfill
        while len(accepted) < settings.prompts_per_step and submitted < most:
            wanted = min(settings.prompts_per_step - len(accepted), most - submitted)
            slots = range(submitted, submitted + wanted)
            for group in await asyncio.gather(*(self._group(step, cursor, slot, model) for slot in slots)):
                if informative([sample.reward for sample in group]):
                    accepted.append(group)
                elif len(group) >= 2:
                    filtered.append(group)
            submitted += wanted
        return StepGroups(tuple(accepted), tuple(filtered), submitted - len(accepted) - len(filtered))

    async def _group(self, step: int, cursor: int, slot: int, model: ModelBackend) -> tuple[Sample, ...]:
        """The scored samples of one group. `draw` counts within the step, so a task met twice in it is drawn anew."""
        task = self._spec.tasks[(cursor + slot) % len(self._spec.tasks)]
        size, version = self._spec.settings.group_size, policy_version(self._spec.run, step)
        draws = [
            TrainDraw(task_id=task, step=step, draw=slot * size + place, policy_version=version)
            for place in range(size)
        ]
        samples = []
        for attempt in await self._attempts(draws, model):
            reward, flat = training_reward(attempt, self._spec.settings.form_weight), flatten(attempt)
            if reward is not None and any(flat.env_mask):
                samples.append(Sample(reward, attempt.passed, flat))
        return tuple(samples)

    async def _attempts(self, draws: Sequence[TrainDraw], model: ModelBackend) -> list[Attempt]:
        ids = self._rollout.ids(draws)
        known = dict(self._ledger.get(ids))
        owed = [draw for draw, attempt_id in zip(draws, ids, strict=True) if attempt_id not in known]
        if owed:
            played = await self._rollout(owed, model)
            self._ledger.record(played)
            known |= {attempt.id: attempt for attempt in played}
        for draw, attempt_id in zip(draws, ids, strict=True):
            check_expected(known[attempt_id], draw, attempt_id, self._spec.pair)
        return [known[attempt_id] for attempt_id in ids]


def policy_version(run: str, step: int) -> str:
    """Names the weights of a run after `step` committed steps."""
    return f"{run}@{step}"
