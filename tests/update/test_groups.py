"""The rules of group selection, without a model. A letter a draw: P passes, F fails, - unscored, 0 no tokens."""

from dataclasses import dataclass, field

import pytest
from tiny_policy import PAIR, Ledger, MemoryStore, make_spec

from rsi.errors import IntegrityError
from rsi.types import Attempt, AttemptSpec, Completion, Score, Termination, Turn
from rsi.update.trl.groups import GroupSource


@dataclass
class Written:
    """`plan[task]` holds the outcomes of its draws, by place in the group; the same at every step."""

    plan: dict[str, str]
    version: str = ""
    asked: list = field(default_factory=list)

    def spec(self, draw):
        purpose = f"train/step{draw.step}"
        return AttemptSpec(task_id=draw.task_id, pair=PAIR, purpose=purpose, draw=draw.draw, sandbox="none", seed=0)

    def ids(self, draws):
        return [self.spec(draw).digest for draw in draws]

    async def __call__(self, draws, model):
        self.asked += [(draw.task_id, draw.draw) for draw in draws]
        return [self.play(draw) for draw in draws]

    def play(self, draw):
        outcome = self.plan[draw.task_id][draw.draw % 4]
        done = Completion(
            text="",
            prompt_ids=(1,),
            token_ids=() if outcome == "0" else (2,),
            logprobs=() if outcome == "0" else (-1.0,),
            policy_version=self.version or draw.policy_version,
            finish="stop",
        )
        return Attempt(
            id=self.spec(draw).digest,
            spec=self.spec(draw),
            family="f",
            split="train",
            held_out=False,
            termination=Termination.INFRASTRUCTURE if outcome == "-" else Termination.ANSWERED,
            turns=(Turn(completion=done),),
            score=None if outcome == "-" else Score(reward=float(outcome == "P"), passed=outcome == "P"),
        )


def source(tmp_path, plan, ledger=None, version="", **settings):
    spec = make_spec(str(tmp_path), tmp_path, **settings).model_copy(update={"tasks": tuple(plan)})
    rollout = Written(plan, version)
    return GroupSource(spec, rollout, ledger or Ledger(MemoryStore())), rollout


async def test_equal_groups_are_filtered_and_back_filled_from_the_next_tasks(tmp_path):
    groups, rollout = source(tmp_path, {"a": "PPPP", "b": "PFPF", "c": "FFFF", "d": "PPFF", "e": "PFFF"})
    step = await groups.collect(0, 0, None)
    assert [task for task, draw in rollout.asked if draw % 4 == 0] == ["a", "b", "c", "d"]
    assert (len(step.accepted), len(step.filtered), step.failed, step.submitted) == (2, 2, 0, 4)
    assert [sample.reward for sample in step.accepted[1]] == [1, 1, 0, 0]


async def test_back_filling_is_bounded_and_the_counts_add_up(tmp_path):
    plan = {"a": "PPPP", "b": "P---", "c": "FF--", "d": "----", "e": "PF--"}
    groups, _ = source(tmp_path, plan, backfill=2)
    step = await groups.collect(0, 0, None)
    assert (len(step.accepted), len(step.filtered), step.failed, step.submitted) == (0, 2, 2, 4)
    metrics = step.metrics()
    assert metrics["submitted"] == metrics["accepted"] + metrics["filtered"] + metrics["failed"] == 4


async def test_unscored_and_empty_attempts_are_left_out_never_zero(tmp_path):
    groups, _ = source(tmp_path, {"a": "PP-0", "b": "PF-0"}, prompts_per_step=1, backfill=1)
    step = await groups.collect(0, 0, None)
    assert [len(group) for group in step.filtered] == [2]  # not "1, 1, 0, 0"
    assert [sample.reward for sample in step.accepted[0]] == [1, 0]
    assert step.metrics()["pass_rate"] == 0.75


async def test_the_cursor_moves_over_the_tasks_and_a_task_met_twice_is_drawn_anew(tmp_path):
    groups, rollout = source(tmp_path, {"a": "PPPP", "b": "FFFF"}, prompts_per_step=2, backfill=1)
    await groups.collect(3, 5, None)
    assert [task for task, draw in rollout.asked if draw % 4 == 0] == ["b", "a", "b"]
    assert sorted(draw for _, draw in rollout.asked) == list(range(12))


async def test_recorded_attempts_are_not_played_again_but_failed_ones_are(tmp_path):
    ledger, plan = Ledger(MemoryStore()), {"a": "PF-F", "b": "PFFF"}
    groups, rollout = source(tmp_path, plan, ledger)
    first = await groups.collect(0, 0, None)
    assert len(rollout.asked) == 8
    again, rollout = source(tmp_path, plan, ledger)
    second = await again.collect(0, 0, None)
    assert rollout.asked == [("a", 2)]  # infrastructure failed: still owed
    assert second.metrics() == first.metrics()


async def test_an_attempt_of_another_policy_is_recorded_but_not_trained_on(tmp_path):
    groups, _ = source(tmp_path, {"a": "PFPF"}, version="another@7")
    with pytest.raises(IntegrityError, match="another@7"):
        await groups.collect(0, 0, None)
