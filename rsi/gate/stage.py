"""The gate's stage: draws the sealed shard batch by batch, judges after each, and measures what it promotes on tasks
that were held back.

It must not know how attempts are run or stored. Everything it returns but `decision` is for people and reports.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rsi.config import GateSettings
from rsi.errors import UserError
from rsi.gate.attribution import two_by_two
from rsi.gate.binding import check_bound
from rsi.gate.budget import LEAST, allot
from rsi.gate.certified import looked_at
from rsi.gate.contract import FACTS, Contract
from rsi.gate.evidence import Arm, Evidence, gather, tabled
from rsi.gate.judgement import Plan, Weighed, batches, cheating, weigh
from rsi.gate.statistics import ARMS, mean_difference
from rsi.ids import digest
from rsi.ports import LookBook, Scene
from rsi.types import Attempt, Decision, HarnessConfig, Look, Pair, Rate, Task, Verdict

Cells = Mapping[str, tuple[Pair, HarnessConfig]]


@dataclass(frozen=True)
class Candidate:
    """What is judged. `facts`: figures that no attempt holds, for clauses that ask for them (canary_passes, ...)."""

    pair: Pair
    harness: HarnessConfig
    specialist: str
    facts: Mapping[str, Rate]


async def judge(
    scene: Scene, candidate: Candidate, contract: Contract, settings: GateSettings, book: LookBook
) -> Verdict:
    """Judge `candidate` against the scene's champion on sealed shard `scene.generation`.

    The look is in the book, with the error that it may spend, before anything is drawn. All arms share the purpose, so
    the same task and draw has the same seed in each. Called again with the same inputs it opens the same look and,
    since `scene.draw` repeats nothing recorded, returns the same verdict; a verdict that the book knows stands.
    UserError where the contract is of another bank or has a clause on none of the tasks, the bank has no sealed tasks,
    or the candidate has another base.
    """
    if candidate.pair == scene.champion:
        return _without_look("reject", "nothing changed")
    if candidate.pair.base != scene.champion.base:
        raise UserError("candidate and champion have different bases; a lineage has one base: start another lineage")
    bound, sampled = contract.evaluation.temperature, candidate.harness.sampling.temperature
    if bound is not None and bound != sampled:
        return _without_look(
            "reject", f"the contract asks for temperature {bound:g}, the candidate's document has {sampled:g}"
        )
    tasks, looks = sealed_tasks(scene, contract, settings), book.of(scene.lineage)
    if not any(look.generation == scene.generation for look in looks):
        _check_slices(contract, tasks, candidate.specialist)
    earlier = [look for look in looks if look.generation < scene.generation]
    alpha, spent, budget = allot(earlier, contract.error.lineage, contract.error.horizon)
    if alpha < LEAST:
        return _without_look(
            "indecisive", f"the lineage has spent its error budget of {budget:g}; start another lineage"
        )
    cells, draws = _cells(scene, candidate), max(settings.draws, contract.evaluation.draws)
    look = Look(
        lineage=scene.lineage,
        generation=scene.generation,
        champion=scene.champion.digest,
        candidate=candidate.pair.digest,
        contract=contract.digest,
        sealed=digest([task.digest for task in tasks]),
        attempts=owed(
            tasks, [pair for pair, _ in cells.values()], draws, f"seed{scene.seed}/{_purpose(scene.generation)}"
        ),
        alpha=alpha,
        spent=spent,
        budget=budget,
        shard_looks=contract.evaluation.shard_looks,
    )
    if (judged := book.open(look)) is not None:
        return judged
    return await _Hearing(scene, candidate, contract, cells, draws, look).verdict(tasks)


class _Hearing:
    """One look: what was drawn so far, by pair."""

    def __init__(
        self, scene: Scene, candidate: Candidate, contract: Contract, cells: Cells, draws: int, look: Look
    ) -> None:
        self._scene, self._candidate, self._contract = scene, candidate, contract
        self._cells, self._draws, self._look = cells, draws, look
        self._attempts: list[Attempt] = []

    async def verdict(self, tasks: Sequence[Task]) -> Verdict:
        families, ids = [task.recipe.family for task in tasks], [task.id for task in tasks]
        parts, last = batches(families, ids, self._contract.evaluation)
        plan = Plan.over(self._look.alpha, parts)
        used: list[Task] = []
        arms = dict[str, list[Sequence[Attempt]]]((name, []) for name in (ARMS[0], ARMS[3]))
        for batch, part in enumerate(parts, 1):
            fresh = [tasks[i] for i in part]
            used += fresh
            for name, groups in arms.items():
                groups += await self._draw(name, fresh)
            evidence = self._evidence(used, arms)
            found = weigh(self._contract, evidence, plan, batch)
            if found.decision is not None:
                break
        written = self._verdict(evidence, found, (batch, len(parts)))
        if found.decision != "promote" or not last:
            return written
        return await self._measured(written, [tasks[i] for i in last])

    async def _draw(self, name: str, tasks: Sequence[Task]) -> Sequence[Sequence[Attempt]]:
        pair, harness = self._cells[name]
        groups = await self._scene.draw(tasks, pair, harness, self._draws, _purpose(self._look.generation))
        self._attempts += [attempt for group in groups for attempt in group]
        return groups

    def _evidence(self, tasks: Sequence[Task], arms: Mapping[str, Sequence[Sequence[Attempt]]]) -> Evidence:
        old, new = (tabled(arms[name], self._cells[name][1].budgets) for name in (ARMS[0], ARMS[3]))
        return gather(tasks, old, new, self._candidate.specialist, self._candidate.facts)

    def _verdict(self, evidence: Evidence, found: Weighed, count: tuple[int, int]) -> Verdict:
        reasons = [f"{_WORD[clause.held]}: {clause.name}: {clause.reason}" for clause in found.clauses]
        if lost := evidence.regressions():
            named = ", ".join(f"{family} ({number})" for family, number in sorted(lost.items()))
            reasons.append(f"tasks that the champion passed and the candidate does not: {named}")
        return Verdict(
            decision=found.decision or "indecisive",
            look=self._look.digest,
            clauses=found.clauses,
            rates=evidence.rates("" if count[0] == count[1] else ", drawing stopped early"),
            two_by_two={},
            reasons=tuple([found.why, *reasons] if found.why else reasons),
            stopped=found.stopped,
            batches=count,
            digests=self._digests(),
        )

    async def _measured(self, verdict: Verdict, tasks: Sequence[Task]) -> Verdict:
        """The verdict with what a promoted candidate is worth, on tasks that no decision has seen, in all four arms.
        Cheating that shows only now still rejects it."""
        distinct = {pair.digest: name for name, (pair, _) in self._cells.items()}
        drawn = {name: await self._draw(name, tasks) for name in distinct.values()}
        arms = {name: drawn[distinct[pair.digest]] for name, (pair, _) in self._cells.items()}
        tables = {n: tabled(groups, self._cells[n][1].budgets).per_task("pass_rate") for n, groups in arms.items()}
        rates, effects = two_by_two(tables, [task.recipe.family for task in tasks], self._changed())
        evidence = self._evidence(tasks, arms)
        found = {"two_by_two": rates, "effects": effects, "gain": _gain(evidence), "digests": self._digests()}
        if seen := cheating(self._contract, evidence):
            why = f"on the tasks held back: {seen}"
            found |= {"decision": "reject", "stopped": "end", "reasons": (why, *verdict.reasons)}
        return verdict.model_copy(update=found)

    def _changed(self) -> tuple[str, ...]:
        """The factors that differ between champion and candidate."""
        old, new = self._scene.champion, self._candidate.pair
        return tuple(n for n, c in (("weights", old.adapters != new.adapters), ("harness", old.hcp != new.hcp)) if c)

    def _digests(self) -> dict[str, str]:
        """What the verdict rests on."""
        look = self._look
        return {
            "contract": look.contract,
            "champion": look.champion,
            "candidate": look.candidate,
            "sealed": look.sealed,
            "attempts": digest(sorted(attempt.id for attempt in self._attempts)),
            "sandbox": ", ".join(sorted({attempt.spec.sandbox for attempt in self._attempts})),
            "code": ", ".join(sorted({attempt.code_version for attempt in self._attempts})),
        }


_WORD = {True: "held", False: "not held", None: "undecided"}


def _gain(evidence: Evidence) -> Rate:
    """Candidate minus champion on tasks that no decision has seen. A missing attempt counts against the candidate."""
    old, new = evidence.values("pass_rate", "worst")
    return mean_difference(new - old, evidence.labels)


def _without_look(decision: Decision, reason: str) -> Verdict:
    """A verdict without a look."""
    return Verdict(decision=decision, look="", clauses=(), rates={}, two_by_two={}, reasons=(reason,))


def sealed_tasks(scene: Scene, contract: Contract, settings: GateSettings) -> tuple[Task, ...]:
    """What the look takes of the generation's sealed shard. UserError where that is nothing, or of another bank."""
    tasks = tuple(looked_at(scene.bank, scene.generation, settings))
    if not tasks:
        raise UserError(
            "the bank has no sealed tasks for this look, so nothing can be promoted; give it (fresh) sealed tasks"
        )
    check_bound(contract, bank=tasks[0].bank)
    return tasks


def _check_slices(contract: Contract, tasks: Sequence[Task], specialist: str) -> None:
    """UserError, before a look is opened, where a clause is about none of the tasks: it could only fail."""
    slices = gather(tasks, Arm({}, {}), Arm({}, {}), specialist)
    for clause in contract.clause:
        decides = clause.binding and not clause.needs_families and clause.metric not in FACTS
        if decides and not len(slices.pick(clause.slice)):
            raise UserError(
                f"contract '{contract.name}', clause '{clause.name}': no sealed task of this look is of slice "
                f"'{clause.slice}', so nothing could be promoted; correct the clause"
            )


def _purpose(generation: int) -> str:
    return f"gen{generation}/gate"


def owed(tasks: Sequence[Task], pairs: Sequence[Pair], draws: int, purpose: str) -> tuple[str, ...]:
    """What a look may owe at most, one "purpose/pair/task/draw" an attempt, each once; its seed follows from these."""
    names = dict.fromkeys(pair.digest for pair in pairs)
    return tuple(f"{purpose}/{pair}/{task.id}/{k}" for pair in names for task in tasks for k in range(draws))


def _cells(scene: Scene, candidate: Candidate) -> Cells:
    """Pair and harness of the four arms, in the order of ARMS."""
    old, new = scene.champion, candidate.pair
    pairs = (
        (old, scene.harness),
        (Pair(base=old.base, adapters=old.adapters, hcp=new.hcp), candidate.harness),
        (Pair(base=old.base, adapters=new.adapters, hcp=old.hcp), scene.harness),
        (new, candidate.harness),
    )
    return dict(zip(ARMS, pairs, strict=True))
