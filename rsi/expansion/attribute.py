"""Where a failure lies, suspected from its trace. Pure. Nothing here is proof: an intervention confirms."""

from collections import Counter
from collections.abc import Sequence

from rsi.discovery.stage import NOT_CERTIFIED
from rsi.types import Attempt, Attribution, Discovery, EditTrial, Locus, OpenTask, Termination

BUDGETS = {Termination.TURNS, Termination.TOKENS, Termination.SECONDS, Termination.CONTEXT}


def symptom(attempt: Attempt) -> tuple[Locus, str]:
    """Suspected locus of one attempt that did not pass, and what in its trace says so."""
    if attempt.score is None or attempt.termination is Termination.INFRASTRUCTURE:
        return Locus.INFRASTRUCTURE, "it could not be scored"
    if attempt.termination is Termination.NO_ACTION:
        return Locus.CONFIGURATION, "no action could be parsed"
    if attempt.termination in BUDGETS:
        return Locus.CONFIGURATION, f"the budget of {attempt.termination.value} ran out"
    if attempt.score.form < 1:
        return Locus.CONFIGURATION, "the answer's form was wrong"
    if any(turn.exit_code for turn in attempt.turns[-1:]):
        return Locus.CONFIGURATION, "the last command ended in an error"
    if not attempt.output.strip():
        return Locus.CONFIGURATION, "the output was empty"
    return Locus.MODEL, "a well-formed answer was wrong"


def suspect(task_id: str, attempts: Sequence[Attempt]) -> Attribution:
    """The most frequent symptom of a task's failed attempts (at least one). Infrastructure only if none was scored."""
    symptoms = [symptom(attempt) for attempt in attempts if not attempt.passed]
    scored = [s for s in symptoms if s[0] is not Locus.INFRASTRUCTURE] or symptoms
    (locus, what), count = Counter(scored).most_common(1)[0]
    evidence = f"{what} in {count} of {len(scored)} failed attempts"
    return Attribution(task_id=task_id, locus=locus, status="suspected", evidence=evidence)


def unsound(discovery: Discovery) -> list[Attribution]:
    """Tasks that could not prove themselves: the certificate is an intervention without a model, so it confirms."""
    return [
        Attribution(task_id=r.text.removeprefix("task "), locus=Locus.TASK, status="confirmed", evidence=r.reason)
        for r in discovery.refusals
        if r.reason.startswith(NOT_CERTIFIED)
    ]


def confirm(suspected: Attribution, flips: Sequence[tuple[EditTrial, int, int, int]]) -> Attribution:
    """`suspected`, or configuration confirmed by the edit that flipped most fresh draws.

    `flips` holds accepted trials with the task's own passes without, passes with, and draws of each arm."""
    best = max(flips, key=lambda flip: flip[2] - flip[1], default=None)
    if best is None or best[2] <= best[1]:
        return suspected
    trial, without, passes, n = best
    evidence = f"edit '{trial.edit.name}': {passes} of {n} fresh draws pass with it, {without} of {n} without"
    return Attribution(task_id=suspected.task_id, locus=Locus.CONFIGURATION, status="confirmed", evidence=evidence)


def failing(discovery: Discovery) -> list[OpenTask]:
    """The tasks that the search is for, in the order in which they were screened."""
    ids = set(discovery.fails)
    return [task for task in discovery.tasks if task.id in ids]
