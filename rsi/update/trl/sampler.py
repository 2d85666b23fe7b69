"""TRL's rollout function: the groups of a step, drawn on one owned event loop, laid out in TRL's fixed batch shape.

Knows neither torch nor how a rollout is played; the backend it makes samples from the learner's own module.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Any

from rsi.ports import ModelBackend
from rsi.types import TrainSpec
from rsi.update.trl.groups import GroupSource, Sample, StepGroups, policy_version
from rsi.update.trl.learner import Learner

BackendFactory = Callable[[Any, Any, Callable[[], str]], ModelBackend]


class Sampler:
    """TRL's rollout function and reward function over the groups of each step, on one owned event loop."""

    def __init__(self, groups: GroupSource, spec: TrainSpec, make_backend: BackendFactory) -> None:
        self._groups = groups
        self._spec = spec
        self._make_backend = make_backend
        self._loop = asyncio.new_event_loop()
        self._backend: ModelBackend | None = None
        self._step: dict[str, float] = {}

    def roll(self, prompts: list[str], learner: Learner) -> dict[str, Any]:
        """The rows of one step in TRL's fixed shape. A row that fills the shape has no reward and no unmasked token."""
        started, state = time.monotonic(), learner.state
        cursor = int(sum(entry.get("submitted", 0) for entry in state.log_history))
        learner.model.eval()
        try:
            groups = self._loop.run_until_complete(self._collect(state.global_step, cursor, learner))
        finally:
            learner.model.train()
        self._step = groups.metrics() | {"rollout_seconds": time.monotonic() - started}
        size, pad = self._spec.settings.group_size, learner.processing_class.pad_token_id
        rows = [row for group in groups.accepted for row in _filled(group, size)]
        rows += [None] * (len(prompts) - len(rows))
        flats = [row.flat if row else None for row in rows]
        return {
            "prompt_ids": [list(flat.prompt_ids) if flat else [pad] for flat in flats],
            "completion_ids": [list(flat.completion_ids) if flat else [pad] for flat in flats],
            "logprobs": [list(flat.logprobs) if flat else [0.0] for flat in flats],
            "env_mask": [list(flat.env_mask) if flat else [0] for flat in flats],
            "training_reward": [row.reward if row else None for row in rows],
        }

    def rewards(
        self, training_reward: list[float | None], log_metric: Callable[[str, float], None], **unused: Any
    ) -> list[float | None]:
        for name, value in self._step.items():
            log_metric(name, value)
        return training_reward

    async def _collect(self, step: int, cursor: int, learner: Learner) -> StepGroups:
        if self._backend is None:

            def version() -> str:
                return policy_version(self._spec.run, learner.state.global_step)

            self._backend = self._make_backend(learner.model, learner.processing_class, version)
        return await self._groups.collect(step, cursor, self._backend)

    def close(self) -> None:
        if self._backend is not None:
            self._loop.run_until_complete(self._backend.close())
        self._loop.close()


def _filled(group: tuple[Sample, ...], size: int) -> list[Sample | None]:
    return [*group, *[None] * (size - len(group))]
