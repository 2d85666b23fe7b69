"""What training may learn from: attempts as token ids, their rewards, informative groups, and the choice of tasks.

Pure. It knows records only: no model, no trainer, no store.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from rsi.errors import IntegrityError
from rsi.ids import digest, seed_of
from rsi.types import Attempt, OpenTask, Recipe, TrainDraw, Turn


@dataclass(frozen=True)
class FlatSample:
    """One attempt as the learner sees it. `completion_ids`, `logprobs` and `env_mask` have equal length: mask 1 is a
    token that the model sampled (with its natural-log probability), 0 one that the environment wrote (0.0)."""

    prompt_ids: tuple[int, ...]
    completion_ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    env_mask: tuple[int, ...]


def flatten(attempt: Attempt) -> FlatSample:
    """Join an attempt's turns by their token ids, never by text. An attempt without turns gives empty tuples.

    After a compaction the prompt begins anew. Only tokens of one such segment stand behind the prompt that they were
    sampled from, so of several one is learned from, chosen by the attempt's id: over many draws, each as often.

    IntegrityError where a turn's prompt does not begin with all tokens before it (a chat template that rewrites
    history), or where tokens and log-probabilities differ in number."""
    if not attempt.turns:
        return FlatSample((), (), (), ())
    turns = _one_segment(attempt)
    prompt = turns[0].completion.prompt_ids
    ids: tuple[int, ...] = ()
    logprobs: tuple[float, ...] = ()
    mask: tuple[int, ...] = ()
    for number, turn in enumerate(turns):
        done = turn.completion
        seen = prompt + ids
        if done.prompt_ids[: len(seen)] != seen:
            raise IntegrityError(
                f"attempt {attempt.id}: the prompt of turn {number} does not begin with turn {number - 1}"
            )
        if len(done.token_ids) != len(done.logprobs):
            raise IntegrityError(f"attempt {attempt.id}: turn {number} has tokens without log-probabilities")
        written = done.prompt_ids[len(seen) :]
        ids += written + done.token_ids
        logprobs += (0.0,) * len(written) + done.logprobs
        mask += (0,) * len(written) + (1,) * len(done.token_ids)
    return FlatSample(prompt, ids, logprobs, mask)


def _one_segment(attempt: Attempt) -> list[Turn]:
    known = sorted({turn.segment for turn in attempt.turns})
    chosen = known[seed_of(attempt.id) % len(known)] if len(known) > 1 else known[0]
    return [turn for turn in attempt.turns if turn.segment == chosen]


def training_reward(attempt: Attempt, form_weight: float) -> float | None:
    """Outcome plus `form_weight` times form; a flagged attempt earns nothing. None where it was not scored: such an
    attempt is left out of its group, never counted as 0."""
    if attempt.score is None:
        return None
    return 0.0 if attempt.score.flags else attempt.score.reward + form_weight * attempt.score.form


def informative(rewards: Sequence[float]) -> bool:
    """At least two rewards that are not all exactly equal: only such a group has an advantage to learn from."""
    return len(rewards) >= 2 and any(reward != rewards[0] for reward in rewards)


def check_expected(attempt: Attempt, draw: TrainDraw, attempt_id: str, pair: str) -> None:
    """IntegrityError unless `attempt` is the one that was asked for: this id and task, drawn under this pair (so under
    this harness) by this policy version. A sample of anything else is refused, never trained on."""
    versions = {turn.completion.policy_version for turn in attempt.turns}
    if attempt.id != attempt_id or attempt.spec.digest != attempt_id or attempt.spec.task_id != draw.task_id:
        raise IntegrityError(f"attempt {attempt.id}: is not the one asked for ({attempt_id}, task {draw.task_id})")
    if attempt.spec.pair != pair:
        raise IntegrityError(f"attempt {attempt.id}: was drawn under pair {attempt.spec.pair}, not {pair}")
    if versions - {draw.policy_version}:
        raise IntegrityError(f"attempt {attempt.id}: was sampled by {sorted(versions)}, not by {draw.policy_version}")


@dataclass(frozen=True)
class Screened:
    """A task with what was measured of it: `passes` of `n` scored draws."""

    task: OpenTask
    passes: int
    n: int


def unique_tasks(tasks: Sequence[OpenTask]) -> list[OpenTask]:
    """The tasks of split train, the first of each distinct content (request and files)."""
    seen: dict[str, OpenTask] = {}
    for task in tasks:
        if task.split == "train":
            seen.setdefault(content(task), task)
    return list(seen.values())


def content(task: OpenTask) -> str:
    return digest([task.asked, task.files])


def informative_recipes(screened: Sequence[Screened]) -> list[Recipe]:
    """Recipes with both passes and failures among their draws, those nearest to one half first."""
    passes: dict[Recipe, int] = defaultdict(int)
    draws: dict[Recipe, int] = defaultdict(int)
    for item in screened:
        passes[item.task.recipe] += item.passes
        draws[item.task.recipe] += item.n
    mixed = [recipe for recipe in draws if 0 < passes[recipe] < draws[recipe]]
    return sorted(mixed, key=lambda r: (abs(passes[r] / draws[r] - 0.5), r.family, r.difficulty))


def choose_tasks(screened: Sequence[Screened], fresh: Sequence[OpenTask], limit: int) -> list[OpenTask]:
    """At most `limit` train tasks, best first and balanced over families: each round takes one task of every family.

    Within a family come screened tasks with passes and failures, nearest to one half first, then the `fresh`
    instances, which were made of informative recipes and not measured themselves. No content appears twice."""
    mixed = [item for item in screened if 0 < item.passes < item.n]
    ranked = [item.task for item in sorted(mixed, key=lambda i: (abs(i.passes / i.n - 0.5), i.task.id))]
    queues: dict[str, list[OpenTask]] = defaultdict(list)
    for task in unique_tasks([*ranked, *fresh]):
        queues[task.recipe.family].append(task)
    order = [recipe.family for recipe in informative_recipes(screened)]
    families = [family for family in dict.fromkeys(order) if family in queues]
    longest = max((len(queue) for queue in queues.values()), default=0)
    rounds = [queues[family][place] for place in range(longest) for family in families if place < len(queues[family])]
    return rounds[:limit]
