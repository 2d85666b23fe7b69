"""What a conversation of 40 turns still knows late: the talk bank's pass rate by turn, with a memory and without.

The policy is a reader that knows what its prompt shows and nothing else, in a window that holds about two thirds of a
conversation. So the figures say what the harness keeps, not what a model makes of it. Intervals take turns as
independent, which those of one conversation are not.
"""

import asyncio
import sys
from collections import Counter
from collections.abc import Sequence

from benchmarks.reader import Reader
from benchmarks.report import Figure, Goal, finish, quick, share
from rsi.banks.generated import GeneratedBank, open_bank
from rsi.config import project_root
from rsi.hcp import load
from rsi.rollouts.episode import Parts, play
from rsi.rollouts.record import make_spec
from rsi.types import Attempt, HarnessConfig, Job, Pair, Task, Termination
from rsi.verify.checks import CheckVerifier

WINDOW = 500  # tokens of four characters
SHARDS = {"quick": 1, "full": 10}  # of sealed conversations, under a salt of the benchmark's own
SMALL = 500  # characters of an extract
BANDS = ((1, 10), (11, 20), (21, 30), (31, 40))


def harnesses() -> dict[str, HarnessConfig]:
    """The documents that ship, and the default one with an extract that keeps the latest lines, whatever they say, or
    that is too small for all that is told."""
    folder = project_root() / "harness_configs/talk"
    told, bare = load(folder / "default.toml").harness(), load(folder / "bare.toml").harness()
    assert told.memory is not None
    latest = told.model_copy(update={"memory": told.memory.model_copy(update={"first": "latest"})})
    small = told.model_copy(update={"memory": told.memory.model_copy(update={"summary_chars": SMALL})})
    return {"memory": told, "latest lines": latest, "small memory": small, "no memory": bare}


async def converse(bank: GeneratedBank, tasks: Sequence[Task], harness: HarnessConfig) -> list[Attempt]:
    parts, pair = Parts(Reader(WINDOW), None, CheckVerifier(None)), Pair(base="reader", hcp=harness.document_digest)
    jobs = [
        Job(spec=make_spec(task, pair, "drift", 0, "none"), task=task, key=bank.key(task), harness=harness)
        for task in tasks
    ]
    return [await play(job, parts) for job in jobs]


def figures(arm: str, attempts: Sequence[Attempt], scored: Sequence[Sequence[bool]]) -> list[Figure]:
    """`scored` says of each attempt which of its turns have checks."""
    scores = [attempt.score for attempt in attempts if attempt.score is not None]
    assert len(scores) == len(attempts), [attempt.error for attempt in attempts if attempt.score is None][:1]
    made = [
        share(
            f"{arm}: turns {first}-{last}",
            round(sum(sum(score.parts[first - 1 : last]) for score in scores)),
            sum(sum(turns[first - 1 : last]) for turns in scored),
        )
        for first, last in BANDS
    ]
    ends = Counter(attempt.termination for attempt in attempts)
    made.append(share(f"{arm}: conversations passed", sum(score.passed for score in scores), len(scores)))
    return [*made, share(f"{arm}: ended by a full window", ends[Termination.CONTEXT], len(attempts))]


async def measure(shards: int) -> list[Figure]:
    bank = open_bank(project_root() / "task_banks/talk", b"drift" * 7)
    tasks = list({task.id: task for shard in range(shards) for task in bank.tasks("sealed", shard)}.values())
    scored = [[bool(checks) for checks in bank.key(task).turn_checks] for task in tasks]
    return [
        figure
        for arm, harness in harnesses().items()
        for figure in figures(arm, await converse(bank, tasks, harness), scored)
    ]


def main() -> int:
    found = asyncio.run(measure(SHARDS["quick" if quick(__doc__ or "") else "full"]))
    goals = [
        # all that is told fits the extract, and the reader errs only where its prompt lacks something
        Goal("memory: turns 31-40", at_least=0.98),
        Goal("memory: ended by a full window", at_most=0.0),
        Goal("no memory: ended by a full window", at_least=1.0),
    ]
    return finish("drift", found, goals)


if __name__ == "__main__":
    sys.exit(main())
