"""A/A: what the gate would see where nothing changed, and what the contract can show against that noise. Pure."""

from collections.abc import Sequence
from math import sqrt

from scipy.special import stdtrit

from rsi.gate.budget import spends
from rsi.gate.contract import Clause, Contract
from rsi.gate.evidence import Evidence
from rsi.gate.statistics import mean_difference, standard_error
from rsi.types import Rate, Record

POWER = 0.8


class Calibration(Record):
    """`difference`: of a pair from itself. `shown`: the gain that is promoted four times of five, by generation;
    empty where no noise was found.
    `problems`: what the contract asks and this noise forbids, a line each."""

    difference: Rate
    shown: dict[int, float]
    problems: tuple[str, ...]


def calibrate(contract: Contract, evidence: Evidence) -> Calibration:
    """`evidence`: two arms of the same pair, drawn apart, on as many tasks as a look has. The levels are those of a
    judgement on all of the tasks that are not held back."""
    old, new = evidence.values("pass_rate", "worst")
    kept = 1 - contract.evaluation.held_back
    families = len(set(evidence.labels))
    error = standard_error(new - old, evidence.labels) / sqrt(kept) if families > 1 else 0.0
    difference = mean_difference(new - old, evidence.labels)
    looks = (1, contract.error.horizon) if error else ()
    shown = {n: _shown(error, families, spends(contract.error, n)) for n in looks}
    return Calibration(difference=difference, shown=shown, problems=tuple(_problems(contract, evidence, error, shown)))


def _shown(error: float, families: int, alpha: float) -> float:
    return float(error * (stdtrit(families - 1, 1 - alpha) + stdtrit(families - 1, POWER)))


def _problems(contract: Contract, evidence: Evidence, error: float, shown: dict[int, float]) -> Sequence[str]:
    found = []
    if evidence.finished < contract.evaluation.min_completion_rate:
        found.append(f"only {evidence.finished:.0%} of the attempts finished: every verdict would be indecisive")
    if len(set(evidence.labels)) < 2:
        found.append("all tasks are of one family: how families differ cannot be told")
    elif error == 0:
        found.append("the two arms never differ: these tasks have no noise to calibrate against, or are too few")
    for generation, gain in shown.items():
        if gain > contract.evaluation.worth:
            more = (gain / contract.evaluation.worth) ** 2
            found.append(
                f"generation {generation}: a gain of {100 * contract.evaluation.worth:.0f} points, worth having, is "
                f"seldom shown, one of {100 * gain:.0f} is; take {more:.1f} times as many tasks ('gate.tasks', "
                "'gate.held_out_tasks'), or more attempts a task ('gate.draws')"
            )
    return found + [line for clause in contract.clause if error and (line := _margin(clause, evidence, shown[1]))]


def _margin(clause: Clause, evidence: Evidence, shown: float) -> str:
    """Why an equal candidate would seldom meet a margin of non-inferiority."""
    if clause.kind != "non_inferiority" or not clause.margin:
        return ""
    share = len(evidence.pick(clause.slice)) / len(evidence.labels)
    needed = shown / sqrt(share) if share else float("inf")
    if needed <= clause.margin:
        return ""
    return f"clause '{clause.name}': a margin of {clause.margin:g} is within the noise; {needed:.2f} would be met"
