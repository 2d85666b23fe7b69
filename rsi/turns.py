"""How an episode is scored: its output by its checks, a conversation message by message. Pure but for the verifier."""

from collections.abc import Mapping, Sequence

from rsi.errors import IntegrityError
from rsi.ports import Verifier
from rsi.types import Score, Task, TaskKey


async def judge(
    verifier: Verifier, task: Task, key: TaskKey, outputs: Sequence[str], files: Mapping[str, bytes]
) -> Score:
    """`outputs` are the episode's, one a user message that was reached, in order; what was not reached is not met.

    A conversation's reward is the share of its messages whose checks hold, `parts` says which; a message without checks
    is not scored. Raises IntegrityError where the key has not one set of checks a message, or none at all, and what the
    verifier raises."""
    if not task.user_turns and not key.turn_checks:
        return await verifier.verify(task, key, outputs[-1] if outputs else "", files)
    messages = 1 + len(task.user_turns)
    if len(key.turn_checks) != messages:
        raise IntegrityError(f"task {task.id} has {messages} user messages and checks for {len(key.turn_checks)}")
    if not (scored := sum(map(bool, key.turn_checks))):
        raise IntegrityError(f"task {task.id} has no checks: nothing could fail it")
    parts, problems, flags = [0.0] * len(key.turn_checks), [], dict[str, None]()
    for n, (checks, output) in enumerate(zip(key.turn_checks, outputs, strict=False)):
        if not checks:
            continue
        one = key.model_copy(update={"checks": checks, "turn_checks": ()})
        score = await verifier.verify(task, one, output, files)
        parts[n] = 1.0 if score.passed else 0.0
        flags.update(dict.fromkeys(score.flags))
        problems += [] if score.passed else [f"{n + 1}: {score.detail}"]
    share = sum(parts) / scored
    passed = share >= key.pass_share and not flags
    detail = "; ".join(problems[:5])
    return Score(reward=share, passed=passed, parts=tuple(parts), flags=tuple(flags), detail=detail)
