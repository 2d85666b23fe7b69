"""What becomes of functions that agents saved: a proven one is proposed as a helper, a harmful helper's removal too.

Both are edits that a person must review. Nothing is drawn or run where no attempt saved a function or called a helper.
"""

import re
from collections.abc import Sequence
from statistics import fmean

from rsi.config import ExpansionSettings
from rsi.expansion.plan import spread
from rsi.expansion.promote import demote, promote
from rsi.expansion.references import references
from rsi.expansion.search import under
from rsi.hcp.document import Document
from rsi.hcp.edits import apply
from rsi.ports import Scene
from rsi.types import Attempt, Edit, Helper, HelperProof, OpenTask, RemoveTool, StagedTool

Played = tuple[OpenTask, Sequence[Attempt]]
Found = tuple[list[Edit], list[HelperProof]]


async def proven(scene: Scene, document: Document, attempts: Sequence[Attempt], most: int) -> Found:
    """Edits that add what `attempts` saved and held-out references prove, and a record of each of at most `most`
    proofs; those first that most passing attempts saved. One function a name: the first proven. Raises
    InfrastructureError."""
    edits: dict[str, Edit] = {}
    records: list[HelperProof] = []
    for staged, source in _distinct(document, attempts)[:most]:
        if scene.prove is None or staged.name in edits:
            continue
        proof = await promote(staged, source.id, references(staged, source.family, scene.bank), scene.prove)
        if proof.edit is not None:
            edits[staged.name] = proof.edit
        record = HelperProof(name=staged.name, source=source.id, proven=proof.edit is not None, reason=proof.reason)
        records.append(record)
    return list(edits.values()), records


def _distinct(document: Document, attempts: Sequence[Attempt]) -> list[tuple[StagedTool, Attempt]]:
    """Each function once, with the first attempt that saved it; none that the document has."""
    has = {(helper.name, helper.code) for helper in document.harness().helpers}
    first: dict[StagedTool, Attempt] = {}
    passes: dict[StagedTool, int] = {}
    for attempt in attempts:
        for staged in attempt.staged:
            if (staged.name, staged.code) not in has:
                first.setdefault(staged, attempt)
                passes[staged] = passes.get(staged, 0) + attempt.passed
    return sorted(first.items(), key=lambda item: (-passes[item[0]], item[0].name, item[0].digest))


async def harmful(scene: Scene, document: Document, played: Sequence[Played], settings: ExpansionSettings) -> Found:
    """Edits that remove helpers of the champion's document that do harm, and a record of each that was measured: on the
    tasks of `played` where it was called, the champion against itself without it, on the same fresh seeds."""
    edits: list[Edit] = []
    records: list[HelperProof] = []
    for helper, tasks in _called(document, played)[: settings.helpers]:
        bare = apply(document, Edit(name="without", change=RemoveTool(name=helper.name, figures="")))
        purpose = f"gen{scene.generation}/expansion/helper/{helper.name}/{helper.digest[:8]}"
        tasks = spread(tasks)[: settings.affected]
        old = await scene.draw(tasks, scene.champion, scene.harness, settings.draws, purpose)
        new = await scene.draw(tasks, under(scene.champion, bare), bare.harness(), settings.draws, purpose)
        draws = [(task, _mean(a), _mean(b)) for task, a, b in zip(tasks, old, new, strict=True)]
        both = [(task.recipe.family, a, b) for task, a, b in draws if a is not None and b is not None]
        edit, rate = demote(helper.name, [(a, b) for _, a, b in both], [family for family, _, _ in both])
        if edit is not None:
            edits.append(edit)
        told = f"reward {rate.value:+.3f} [{rate.low:+.3f}, {rate.high:+.3f}] with it, n={rate.n} tasks"
        records.append(HelperProof(name=helper.name, source=helper.source, proven=edit is None, reason=told))
    return edits, records


def _called(document: Document, played: Sequence[Played]) -> list[tuple[Helper, list[OpenTask]]]:
    """Each helper that an action of `played` calls, with the tasks where one does, those called on most tasks first."""
    found = []
    for helper in document.harness().helpers:
        call = re.compile(rf"(?<!\w){re.escape(helper.name)}\(")
        tasks = [task for task, attempts in played if any(_calls(call, attempt) for attempt in attempts)]
        found += [(helper, tasks)] if tasks else []
    return sorted(found, key=lambda item: (-len(item[1]), item[0].name))


def _calls(call: re.Pattern[str], attempt: Attempt) -> bool:
    return any(call.search(turn.action or "") for turn in attempt.turns)


def _mean(attempts: Sequence[Attempt]) -> float | None:
    """Of the rewards; None where one was not scored."""
    rewards = [attempt.score.reward for attempt in attempts if attempt.score is not None]
    return fmean(rewards) if rewards and len(rewards) == len(attempts) else None
