"""Requests to people, gathered from the ledger and the store, and what people decide on them."""

import json
from collections.abc import Iterator, Sequence

from rsi.config import RunSettings, validate
from rsi.errors import IntegrityError, UserError
from rsi.expansion.search import under
from rsi.gate.contract import load_contract
from rsi.gate.review import Review, candidate_request, standing
from rsi.hcp.diff import diff
from rsi.hcp.document import Document, recorded
from rsi.hcp.edits import apply
from rsi.registry.champions import Champions
from rsi.registry.engine import Database
from rsi.registry.reviews import Reviews
from rsi.registry.store import SqlStore
from rsi.report.review import Case, Changed, Flip, trajectory
from rsi.results import Results
from rsi.types import Attempt, Docket, Edit, PairRecord, ReviewDecision, ReviewRequest
from rsi.wiring.budget import scope
from rsi.wiring.ledger import key_of
from rsi.wiring.paths import inside
from rsi.wiring.results import opened

FLIPS = 3  # shown


def cases(settings: RunSettings) -> list[Case]:
    """Every request of the lineage, oldest first, without what it takes to decide."""
    with opened() as database:
        docket = Reviews(database, key=key_of(settings)).docket(settings.lineage)
        return [_case(filed.record, docket, _rules(settings)) for filed in docket.requests]


def show(settings: RunSettings, name: str) -> Case:
    """A request, by a beginning of its digest, with differences, evidence and trajectories of open tasks."""
    with opened() as database:
        docket = Reviews(database, key=key_of(settings)).docket(settings.lineage)
        case = _case(_find(docket, name), docket, _rules(settings))
        results = Results(settings.lineage, SqlStore(database), Champions(database))
        return _filled(case, settings, results, database)


def decide(settings: RunSettings, name: str, reviewer: str, verdict: str, reason: str) -> Case:
    """Record a decision on what the request asks; the case as it stands then. UserError where it is too late for one,
    IntegrityError where what is recorded is not what was asked."""
    rules = _rules(settings)
    with opened() as database:
        reviews = Reviews(database, key=key_of(settings))
        docket = reviews.docket(settings.lineage)
        request = _find(docket, name)
        results = Results(settings.lineage, SqlStore(database), Champions(database))
        _check(request, docket, rules, results)
        given = {"request": request.digest, "subject": request.subject, "reviewer": reviewer, "verdict": verdict}
        decision = validate(ReviewDecision, {**given, "reason": reason}, "rsi review")
        if not decision.person:
            raise UserError("rsi review: 'reviewer': nothing of this name can be seen; give a name")
        reviews.decide(settings.lineage, decision)
        return _case(request, reviews.docket(settings.lineage), rules)


def _check(request: ReviewRequest, docket: Docket, rules: Review, results: Results) -> None:
    name = f"request {request.digest[:12]}"
    stands = standing(request, docket, rules)
    if stands in ("rejected", "expired"):
        raise UserError(f"{name} is {stands}, which ends it; what still waits is asked again by a later run")
    if request.kind == "candidate":
        n = request.generation
        old, new, champion = results.champion(n), results.candidate(n), results.registry.current(results.lineage)
        if results.done(n, "promotion") or (champion is not None and champion.pair == new.pair):
            raise UserError(f"{name}: generation {n} is finished; use `rsi rollback` to undo a promotion")
        made = candidate_request(
            results.lineage, n, (old.pair, new.pair), (recorded(old.document), recorded(new.document)), rules
        )
        if made.subject != request.subject:
            raise IntegrityError(f"{name}: the recorded candidate is not the one that was asked about")


def _rules(settings: RunSettings) -> Review:
    return load_contract(inside(settings.contract)).review


def _find(docket: Docket, name: str) -> ReviewRequest:
    known = [filed.record for filed in docket.requests]
    found = [request for request in known if name and request.digest.startswith(name)]
    if len(found) != 1:
        names = ", ".join(request.digest[:12] for request in known) or "none"
        raise UserError(f"request '{name}': {len(found)} requests are named so; the lineage's requests: {names}")
    return found[0]


def _case(request: ReviewRequest, docket: Docket, rules: Review) -> Case:
    return Case(
        id=request.digest,
        request=request,
        standing=standing(request, docket, rules),
        asked=next(filed.at for filed in docket.requests if filed.record == request),
        needed=rules.reviewers,
        decisions=tuple(filed for filed in docket.decisions if filed.record.request == request.digest),
    )


def _filled(case: Case, settings: RunSettings, results: Results, database: Database) -> Case:
    request, n = case.request, case.request.generation
    champion = results.champion(n)
    if request.edit is not None:
        new, edits = apply(recorded(champion.document), request.edit), [request.edit]
        tried = [k for k in range(1, results.next_owed() + 1) if results.done(k, "expansion")]
        evidence = list(_meant_for(request.edit, n, results))
    else:
        new, edits, tried = recorded(results.candidate(n).document), list(results.expanded(n).composed), [n]
        verdict = results.verdict(n)
        evidence = [f"verdict: {verdict.decision}", *verdict.reasons]
    wanted = {edit.digest for edit in edits}
    trials = [(k, trial) for k in tried for trial in results.expanded(k).trials if trial.edit.digest in wanted]
    evidence += [f"generation {k}, edit '{trial.edit.name}': {trial.reason}" for k, trial in trials]
    store, flips = SqlStore(database), list[Flip]()
    for k in dict.fromkeys(k for k, _ in trials):
        attempts = store.open_attempts(f"{scope(settings)}/gen{k}/expansion/")
        flips += mattered(attempts, edits, results.champion(k), new)
    found = {
        "differences": [_changed(old_key) for old_key in diff(recorded(champion.document), new)],
        "evidence": evidence if trials or not request.edit else [*evidence, "it has not been tried: it waits"],
        "flips": flips[:FLIPS],
    }
    return Case.model_validate({**case.model_dump(), **found})


def mattered(attempts: Sequence[Attempt], edits: Sequence[Edit], champion: PairRecord, new: Document) -> list[Flip]:
    """The first failure under the champion and the first pass with the change, of each open task that has both. With
    the change: trials of its edits, and draws under the new document."""
    marks = [f"/expansion/edit/{edit.name}/{edit.digest[:8]}" for edit in edits]
    with_it = under(champion.pair, new).digest
    failed: dict[str, Attempt] = {}
    passed: dict[str, Attempt] = {}
    for attempt in attempts:
        spec = attempt.spec
        if attempt.split == "sealed" or attempt.held_out or attempt.score is None:
            continue
        if spec.pair == champion.pair.digest and not attempt.passed:
            failed.setdefault(spec.task_id, attempt)
        elif attempt.passed and (spec.pair == with_it or spec.purpose.endswith(tuple(marks))):
            passed.setdefault(spec.task_id, attempt)
    return [
        Flip(task=task, family=after.family, without=trajectory(failed[task]), with_it=trajectory(after))
        for task, after in passed.items()
        if task in failed
    ]


def _meant_for(edit: Edit, n: int, results: Results) -> Iterator[str]:
    found = results.discovered(n)
    fails = [t for t in found.tasks if t.id in found.fails and (not edit.families or t.recipe.family in edit.families)]
    yield f"meant for {', '.join(edit.families) or 'all families'}: {len(fails)} of {len(found.fails)} failing tasks"


def _changed(item: object) -> Changed:
    return Changed.model_validate(json.loads(json.dumps(vars(item), default=str)))
