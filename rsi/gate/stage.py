"""The gate's stage: draws the arms of the 2x2 on a fresh sealed shard and judges the candidate by the contract.

It must not know how attempts are run or stored. Everything it returns but `decision` is for people and reports.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from rsi.config import GateSettings
from rsi.errors import UserError
from rsi.gate.contract import Contract
from rsi.gate.evidence import Arm, Evidence, decide, per_task
from rsi.gate.statistics import ARMS, effects, rate
from rsi.ids import digest
from rsi.ports import Scene
from rsi.types import ClauseResult, HarnessConfig, Look, Pair, Rate, Task, Verdict

Cells = Mapping[str, tuple[Pair, HarnessConfig]]
CHAMPION, CANDIDATE = ARMS[0], ARMS[3]


async def judge(
    scene: Scene,
    candidate: Pair,
    candidate_harness: HarnessConfig,
    contract: Contract,
    settings: GateSettings,
    open_look: Callable[[Look], Verdict | None],
) -> Verdict:
    """Judge `candidate` against the scene's champion on sealed shard `scene.generation`.

    `open_look` must have recorded the look durably when it returns; only then is anything drawn. All arms share the
    purpose, so the same task and draw has the same seed in each. Called again with the same inputs it opens the same
    look and, since `scene.draw` repeats nothing recorded, returns the same verdict; a verdict that `open_look` knows
    stands, though attempts that infrastructure lost then might be had now. UserError where the contract is of another
    bank, the bank has no sealed tasks, or the candidate has another base.
    """
    if candidate == scene.champion:
        return Verdict(decision="reject", look="", clauses=(), rates={}, two_by_two={}, reasons=("nothing changed",))
    if candidate.base != scene.champion.base:
        raise UserError("candidate and champion have different bases; a lineage has one base: start another lineage")
    tasks = sealed_tasks(scene, contract, settings)
    draws = max(settings.draws, contract.evaluation.draws)
    purpose = f"gen{scene.generation}/gate"
    cells = _cells(scene, candidate, candidate_harness)
    look = Look(
        lineage=scene.lineage,
        generation=scene.generation,
        champion=scene.champion.digest,
        candidate=candidate.digest,
        contract=contract.digest,
        sealed=digest([task.digest for task in tasks]),
        attempts=owed(tasks, [pair for pair, _ in cells.values()], draws, f"seed{scene.seed}/{purpose}"),
    )
    if (judged := open_look(look)) is not None:
        return judged
    drawn: dict[str, Arm] = {}
    for pair, harness in cells.values():
        if pair.digest not in drawn:
            drawn[pair.digest] = Arm(await scene.draw(tasks, pair, harness, draws, purpose), harness.budgets)
    return verdict_of(look.digest, tasks, {name: drawn[pair.digest] for name, (pair, _) in cells.items()}, contract)


def sealed_tasks(scene: Scene, contract: Contract, settings: GateSettings) -> tuple[Task, ...]:
    """The first tasks of the generation's sealed shard: unseen instances of open families, then unseen families."""
    shard = scene.bank.tasks("sealed", scene.generation)
    instances = [task for task in shard if not task.held_out][: settings.seen_instances]
    families = [task for task in shard if task.held_out][: settings.unseen_families]
    tasks = (*instances, *families)
    if not tasks:
        raise UserError("the bank has no sealed tasks, so nothing can be promoted; give it a sealed split")
    wanted = contract.evaluation.bank
    if wanted is not None and wanted != tasks[0].bank:
        raise UserError(f"contract '{contract.name}' is for bank '{wanted}', this lineage runs '{tasks[0].bank}'")
    return tasks


def owed(tasks: Sequence[Task], pairs: Sequence[Pair], draws: int, purpose: str) -> tuple[str, ...]:
    """What a look owes, one "purpose/pair/task/draw" an attempt, each once; its seed follows from these."""
    names = dict.fromkeys(pair.digest for pair in pairs)
    return tuple(f"{purpose}/{pair}/{task.id}/{k}" for pair in names for task in tasks for k in range(draws))


def _cells(scene: Scene, candidate: Pair, harness: HarnessConfig) -> Cells:
    """Pair and harness of the four arms, in the order of ARMS."""
    old = scene.champion
    pairs = (
        (old, scene.harness),
        (Pair(base=old.base, adapters=old.adapters, hcp=candidate.hcp), harness),
        (Pair(base=old.base, adapters=candidate.adapters, hcp=old.hcp), scene.harness),
        (candidate, harness),
    )
    return dict(zip(ARMS, pairs, strict=True))


def verdict_of(look: str, tasks: Sequence[Task], arms: Mapping[str, Arm], contract: Contract) -> Verdict:
    """The verdict over drawn arms (all four names present; arms of equal pairs are the same object). Pure."""
    evidence = Evidence(tasks, arms[CHAMPION], arms[CANDIDATE])
    clauses = tuple(decide(clause, evidence) for clause in contract.clause)
    binding = [result for result, clause in zip(clauses, contract.clause, strict=True) if clause.binding]
    reasons = [_line(result) for result in clauses]
    finished = 1 - _share_lost(evidence)
    if finished < contract.evaluation.min_completion_rate:
        binding = []
        reasons.insert(0, f"only {finished:.0%} of the attempts finished, infrastructure took the rest")
    if lost := evidence.regressions():
        named = ", ".join(f"{family} ({count})" for family, count in sorted(lost.items()))
        reasons.append(f"tasks that the champion passed and the candidate does not: {named}")
    two_by_two, factors = _two_by_two(tasks, arms)
    return Verdict(
        decision=_decision([result.held for result in binding]),
        look=look,
        clauses=clauses,
        rates=evidence.rates(),
        two_by_two=two_by_two,
        effects=factors,
        reasons=tuple(reasons),
    )


def _decision(held: Sequence[bool | None]) -> Literal["promote", "reject", "indecisive"]:
    """One clause that fails rejects; else one that is undecided, or no usable clause at all, leaves it indecisive."""
    if False in held:
        return "reject"
    return "indecisive" if None in held or not held else "promote"


def _line(result: ClauseResult) -> str:
    word = {True: "held", False: "not held", None: "undecided"}[result.held]
    return f"{result.name}: {word}: {result.reason}"


def _share_lost(evidence: Evidence) -> float:
    arms = (evidence.champion, evidence.candidate)
    return sum(arm.missing for arm in arms) / sum(len(group) for arm in arms for group in arm.attempts)


def _two_by_two(tasks: Sequence[Task], arms: Mapping[str, Arm]) -> tuple[dict[str, Rate], dict[str, Rate]]:
    """Pass rates of the arms, and effects on tasks that all arms finished. A factor that did not change has none."""
    values = {name: per_task(arm, "pass_rate", None) for name, arm in arms.items()}
    rates = {
        name: rate([v for v in column if v is not None], note="all sealed tasks") for name, column in values.items()
    }
    whole = [i for i in range(len(tasks)) if all(column[i] is not None for column in values.values())]
    complete = {name: [v for i in whole if (v := column[i]) is not None] for name, column in values.items()}
    found = effects(complete, [tasks[i].recipe.family for i in whole])
    if arms[ARMS[0]] is arms[ARMS[2]]:
        found = {"harness": found["harness"]}
    elif arms[ARMS[0]] is arms[ARMS[1]]:
        found = {"weights": found["weights"]}
    return rates, found
