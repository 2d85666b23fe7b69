import pytest
from hypothesis import given
from hypothesis import strategies as st

from rsi.errors import IntegrityError
from rsi.types import (
    Attempt,
    AttemptSpec,
    Completion,
    OpenTask,
    Recipe,
    Score,
    Termination,
    TrainDraw,
    Turn,
)
from rsi.update.select import (
    Screened,
    check_expected,
    choose_tasks,
    flatten,
    informative,
    informative_recipes,
    training_reward,
    unique_tasks,
)


def turn(prompt, tokens, version="run@0"):
    return Turn(
        completion=Completion(
            text="",
            prompt_ids=tuple(prompt),
            token_ids=tuple(tokens),
            logprobs=tuple(-0.5 for _ in tokens),
            policy_version=version,
            finish="stop",
        )
    )


def attempt(*turns, score=None, pair="pair"):
    spec = AttemptSpec(task_id="t", pair=pair, purpose="train", draw=0, sandbox="none", seed=1)
    return Attempt(
        id=spec.digest,
        spec=spec,
        family="f",
        split="train",
        held_out=False,
        termination=Termination.ANSWERED,
        turns=turns,
        score=score,
    )


def test_turns_join_by_token_ids_and_the_environments_tokens_are_masked():
    flat = flatten(attempt(turn([1, 2], [3, 4]), turn([1, 2, 3, 4, 50, 51], [5])))
    assert flat.prompt_ids == (1, 2)
    assert flat.completion_ids == (3, 4, 50, 51, 5)
    assert flat.env_mask == (1, 1, 0, 0, 1)
    assert flat.logprobs == (-0.5, -0.5, 0.0, 0.0, -0.5)


@given(
    st.lists(st.tuples(st.lists(st.integers(0, 9), max_size=3), st.lists(st.integers(0, 9), max_size=3)), min_size=1)
)
def test_flattening_loses_and_invents_no_token(parts):
    turns, so_far = [], [7]
    for written, sampled in parts:
        so_far = so_far + written
        turns.append(turn(so_far, sampled))
        so_far = so_far + sampled
    flat = flatten(attempt(*turns))
    assert list(flat.prompt_ids + flat.completion_ids) == so_far
    assert len(flat.completion_ids) == len(flat.env_mask) == len(flat.logprobs)
    sampled_ids = [token for token, mask in zip(flat.completion_ids, flat.env_mask, strict=True) if mask]
    assert sampled_ids == [token for _, sampled in parts for token in sampled]


def test_a_template_that_rewrites_history_is_refused():
    with pytest.raises(IntegrityError, match="turn 1 does not begin"):
        flatten(attempt(turn([1, 2], [3, 4]), turn([1, 2, 3, 9, 50], [5])))


def test_an_attempt_without_turns_is_empty():
    assert flatten(attempt()).completion_ids == ()


def test_unscored_is_none_and_never_zero_and_a_flag_earns_nothing():
    assert training_reward(attempt(), 0.1) is None
    assert training_reward(attempt(score=Score(reward=1.0, passed=True, form=1.0)), 0.1) == 1.1
    assert training_reward(attempt(score=Score(reward=0.0, passed=False, form=1.0)), 0.1) == 0.1
    assert training_reward(attempt(score=Score(reward=1.0, passed=True, form=1.0, flags=("tampered",))), 0.1) == 0.0


def test_exact_equality_decides_what_is_informative():
    assert not informative([])
    assert not informative([1.0])
    assert not informative([0.1 + 0.2] * 8)
    assert informative([0.3, 0.1 + 0.2])  # differ in the last bit: exactly unequal
    assert informative([0.0, 0.0, 1.0])


def test_samples_of_another_pair_policy_or_task_are_refused():
    draw = TrainDraw(task_id="t", step=0, draw=0, policy_version="run@0")
    good = attempt(turn([1], [2]))
    check_expected(good, draw, good.id, "pair")
    with pytest.raises(IntegrityError, match="not the one asked for"):
        check_expected(good, draw, "other", "pair")
    with pytest.raises(IntegrityError, match="not the one asked for"):
        check_expected(good, draw.model_copy(update={"task_id": "u"}), good.id, "pair")
    old = attempt(turn([1], [2]), pair="superseded harness")
    with pytest.raises(IntegrityError, match="superseded harness"):
        check_expected(old, draw, old.id, "pair")
    stale = attempt(turn([1], [2]), turn([1, 2], [3], version="run@1"))
    with pytest.raises(IntegrityError, match="run@1"):
        check_expected(stale, draw, stale.id, "pair")
    forged = good.model_copy(update={"id": "forged"})
    with pytest.raises(IntegrityError, match="not the one asked for"):
        check_expected(forged, draw, "forged", "pair")


def task(name, family="f", request=None, split="train"):
    return OpenTask(
        id=name, bank="b", recipe=Recipe(family=family), split=split, instance=0, request=request or f"do {name}"
    )


def test_tasks_are_unique_by_content_and_of_the_train_split():
    tasks = [task("a"), task("b", request="do a"), task("c", split="selection"), task("d")]
    assert [one.id for one in unique_tasks(tasks)] == ["a", "d"]


def test_informative_recipes_have_passes_and_failures_nearest_to_a_half_first():
    screened = [
        Screened(task("a", "all"), 4, 4),
        Screened(task("b", "none"), 0, 4),
        Screened(task("c", "rare"), 1, 4),
        Screened(task("d", "even"), 0, 4),
        Screened(task("e", "even"), 4, 4),  # the family varies though no single task does
        Screened(task("f", "lost"), 0, 0),
    ]
    assert [recipe.family for recipe in informative_recipes(screened)] == ["even", "rare"]


def test_chosen_tasks_are_balanced_over_families_best_first_and_never_twice():
    screened = [Screened(task(f"a{i}", "a"), i, 4) for i in range(5)] + [Screened(task("b0", "b"), 1, 4)]
    fresh = [task("a9", "a"), task("b9", "b"), task("b8", "b", request="do b0"), task("z", "unmeasured")]
    chosen = [one.id for one in choose_tasks(screened, fresh, 10)]
    assert chosen == ["a2", "b0", "a1", "b9", "a3", "a9"]
    assert [one.id for one in choose_tasks(screened, fresh, 3)] == ["a2", "b0", "a1"]
    assert choose_tasks([], fresh, 3) == []
