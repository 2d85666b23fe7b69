"""The expansion stage: attribute failures, try edits on fresh draws, compose the accepted, select the composition.

What it returns beyond the document is evidence for people; only the gate promotes."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from rsi.config import ExpansionSettings
from rsi.discovery.source import open_task
from rsi.discovery.stage import screen_purpose
from rsi.errors import UserError
from rsi.expansion.attribute import confirm, failing, suspect, unsound
from rsi.expansion.check import cheating, forbidden_literals
from rsi.expansion.coverage import curve
from rsi.expansion.plan import Plan, plan, ranked, spread
from rsi.expansion.saved import Played, harmful, proven
from rsi.expansion.search import Draws, Trial, greedy, run, under, without_edit
from rsi.figures import wilson
from rsi.hcp.document import Document, parse
from rsi.hcp.edits import apply, compose
from rsi.hcp.risk import needs_review
from rsi.ports import Scene, TaskBank
from rsi.types import Attempt, Attribution, Discovery, Edit, EditTrial, Expansion, OpenTask, Rate


async def expand(
    scene: Scene,
    discovery: Discovery,
    catalogue: Sequence[Edit],
    settings: ExpansionSettings,
    approved: Collection[str],
    forbidden: Collection[str] = (),
    waits: Callable[[Edit], bool] = needs_review,
) -> Expansion:
    """Search `catalogue` for edits that make failing tasks pass, within `settings`.

    `waits` says whether an edit waits for a person; `approved` holds digests of those that need not; `forbidden` words
    that no edit may hold (names of held-out families). Called again it takes recorded draws and returns the same.
    """
    document = parse(scene.document, f"the champion's document ({scene.champion.hcp})")
    fails = failing(discovery)
    ids = {task.id for task in fails}

    def held(edit: Edit) -> bool:
        return waits(edit) and edit.digest not in approved

    screened = await _screened(scene, document, discovery, fails)
    suspected = [suspect(task.id, group) for task, group in screened if task.id in ids]
    sieve = _sift(scene, document, ranked(catalogue, fails, suspected), fails, (held, forbidden))
    tried = sieve.edits[: settings.edits]
    solved = [task for task in discovery.tasks if task.id in set(discovery.solved)]
    plans = plan(tried, fails, solved, settings)
    if len(plans) < len(tried):
        scene.say(f"expansion: {len(tried) - len(plans)} edits not tried, their slices do not fit the attempts left")
    without = await without_edit(scene, plans)
    trials = await run(scene, document, plans, without)
    chosen, records = greedy([trial.record for trial in trials])
    spent = _spent(plans, trials, without)
    coverage = curve(spent, ids)
    retry = await _retry(scene, fails, min(settings.retry_control, coverage[-1].attempts))
    attempts = [*(attempt for _, group in screened for attempt in group), *spent, *retry]
    added, proofs = await proven(scene, document, attempts, settings.helpers)
    removed, measured = await harmful(scene, document, screened, settings)
    helpers = _sift(scene, document, [*added, *removed], fails, (held, forbidden))
    edits = (*chosen, *helpers.edits)
    final, before, after = await _select(scene, document, compose(document, edits), settings)
    waiting = (*sieve.waiting, *helpers.waiting)
    scene.say(
        f"expansion: {len(plans)} edits tried on {len(fails)} failing tasks in {coverage[-1].attempts} attempts, "
        f"{sum(r.accepted for r in records)} accepted, {len(chosen)} composed, {len(waiting)} wait for a person; "
        f"{coverage[-1].covered} tasks covered (adaptive)"
    )
    return Expansion(
        document=final.text,
        composed=edits if final.digest != document.digest else (),
        trials=(*records, *sieve.refused, *helpers.refused),
        waiting=waiting,
        attributions=(*(_confirmed(a, trials) for a in suspected), *unsound(discovery)),
        coverage=coverage,
        retry=curve(retry, ids),
        tasks=len(fails),
        selection_before=before,
        selection_after=after,
        helpers=(*proofs, *measured),
    )


async def _screened(scene: Scene, document: Document, discovery: Discovery, fails: Sequence[OpenTask]) -> list[Played]:
    """The screening's attempts on failing tasks, and on all where agents may save functions. They are recorded and not
    run again."""
    tasks = discovery.tasks if document.harness().protocol == "repl" else fails
    if not tasks:
        return []
    purpose = screen_purpose(scene.generation)
    groups = await scene.draw(tasks, scene.champion, scene.harness, discovery.draws, purpose)
    return list(zip(tasks, groups, strict=True))


@dataclass
class _Sieve:
    edits: list[Edit] = field(default_factory=list)
    waiting: list[Edit] = field(default_factory=list)
    refused: list[EditTrial] = field(default_factory=list)


def _sift(
    scene: Scene,
    document: Document,
    edits: Sequence[Edit],
    fails: Sequence[OpenTask],
    words: tuple[Callable[[Edit], bool], Collection[str]],
) -> _Sieve:
    """Part the edits into those to try, those that wait for a person, and those refused by the program. An edit that
    changes nothing (the champion has it) is in none. `words`: whether an edit waits, forbidden words."""
    held, forbidden = words
    families = {task.recipe.family for task in scene.bank.tasks("train")}
    literals = forbidden_literals(fails, scene.bank, forbidden)
    sieve = _Sieve()
    for edit in edits:
        reason = cheating(edit, families, literals)
        try:
            changed = not reason and apply(document, edit).digest != document.digest
        except UserError as error:
            reason, changed = f"it does not fit the document: {error}", False
        if reason:
            nothing = (0, 0, 0)
            refused = EditTrial(
                edit=edit, affected=nothing, control=nothing, accepted=False, reason=f"refused: {reason}"
            )
            sieve.refused.append(refused)
        elif changed and held(edit):
            sieve.waiting.append(edit)
        elif changed:
            sieve.edits.append(edit)
    return sieve


async def _select(
    scene: Scene, document: Document, composed: Document, settings: ExpansionSettings
) -> tuple[Document, Rate | None, Rate | None]:
    """The composed document if it passes more selection draws than the champion's (same tasks and seeds), else that."""
    tasks = selectable(scene.bank, settings.selection)
    if composed.digest == document.digest:
        return document, None, None
    if not tasks:
        raise UserError("the bank's selection split is empty, so no edit can be selected; give it selection tasks")
    purpose = f"gen{scene.generation}/expansion/selection"
    before = await scene.draw(tasks, scene.champion, scene.harness, settings.draws, purpose)
    pair = under(scene.champion, composed)
    after = await scene.draw(tasks, pair, composed.harness(), settings.draws, purpose)
    both = [
        (a.passed, b.passed)
        for old, new in zip(before, after, strict=True)
        for a, b in zip(old, new, strict=True)
        if a.score is not None and b.score is not None
    ]
    old, new = sum(a for a, _ in both), sum(b for _, b in both)
    scene.say(f"expansion: composed document on the selection split: {old} -> {new} of {len(both)} draws")
    rates = wilson(old, len(both), "selection"), wilson(new, len(both), "selection")
    return (composed if new > old else document), *rates


def _spent(plans: Sequence[Plan], trials: Sequence[Trial], without: Draws) -> list[Attempt]:
    """Everything the search drew, each once, in the order of trials: first what a trial added to the arm without."""
    spent: list[Attempt] = []
    counted: dict[str, int] = {}
    for each, trial in zip(plans, trials, strict=True):
        for task, k in each.arms:
            spent += without[task.id][counted.get(task.id, 0) : k]
            counted[task.id] = max(k, counted.get(task.id, 0))
        spent += trial.attempts
    return spent


async def _retry(scene: Scene, fails: Sequence[OpenTask], attempts: int) -> list[Attempt]:
    """The champion alone on the failing tasks, fresh draws, as many attempts as the search spent or fewer."""
    if not fails or not attempts:
        return []
    purpose = f"gen{scene.generation}/expansion/retry"
    each, more = divmod(attempts, len(fails))
    drawn: list[tuple[int, Attempt]] = []
    for tasks, k in ((fails[:more], each + 1), (fails[more:], each)):
        if tasks and k:
            groups = await scene.draw(tasks, scene.champion, scene.harness, k, purpose)
            drawn += [pair for group in groups for pair in enumerate(group)]
    return [attempt for _, attempt in sorted(drawn, key=lambda pair: pair[0])]  # round by round over the tasks


def _confirmed(suspected: Attribution, trials: Sequence[Trial]) -> Attribution:
    flips = [
        (trial.record, *trial.by_task[suspected.task_id])
        for trial in trials
        if trial.record.accepted and suspected.task_id in trial.by_task
    ]
    return confirm(suspected, flips)


def selectable(bank: TaskBank, wanted: int) -> Sequence[OpenTask]:
    """The selection tasks that a generation uses, balanced over families."""
    return spread([open_task(task) for task in bank.tasks("selection")])[:wanted]
