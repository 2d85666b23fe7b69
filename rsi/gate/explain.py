"""A contract in plain words: what was asked, for people. Pure."""

from collections.abc import Sequence

from rsi.gate.budget import spends
from rsi.gate.contract import ENOUGH_FAMILIES, FACTS, Clause, Contract
from rsi.gate.evidence import SHOWN


def explained(contract: Contract) -> list[str]:
    """A line a demand."""
    asked, error = contract.evaluation, contract.error
    lines = [
        f"Contract '{contract.name}': all of these must hold on fresh sealed tasks before a candidate is champion.",
        *(f"- {clause.name}: {_demand(clause)}{_standing(clause)}." for clause in contract.clause),
        f"The sealed tasks are judged in up to {asked.batches} steps, {asked.draws} or more attempts a task and arm. "
        f"It stops early for success, harm, or where a gain of {asked.worth:.0%} is out of reach.",
        f"{asked.held_back:.0%} of the tasks are held back: on them the gain of a promoted candidate is measured.",
        f"The chance that the lineage ever promotes a pair that is no better is at most {error.lineage:.0%}, over all "
        f"its generations: look 1 may spend {spends(error, 1):.2g}, look 20 may spend {spends(error, 20):.2g}.",
        f"Where infrastructure took more than {1 - asked.min_completion_rate:.0%} of the attempts, or could have "
        "turned a clause, nothing is decided.",
    ]
    waiting = ", ".join(sorted({*contract.review.classes, "unknown"}))
    people = f"{contract.review.reviewers} must approve edits of the classes {waiting}"
    return [*lines, f"People: {people}; an approval holds for {contract.review.expires_days} days."]


def _demand(clause: Clause) -> str:
    where, metric = SHOWN.get(clause.slice, clause.slice), clause.metric.replace("_", " ")
    of = {"candidate": "the candidate's", "difference": "the difference in", "ratio": "the ratio of"}[clause.of]
    match clause.kind:
        case "superiority":
            return f"the {metric} is higher by more than {clause.margin or 0:g} on {where}, shown by paired evidence"
        case "non_inferiority":
            return f"the {metric} is not lower by {clause.margin:g} or more on {where}, shown by paired evidence"
        case "veto":
            return f"no family of {where} that passes at {clause.solved:.0%} or more is lost beyond noise"
        case "zero":
            return f"no {metric} at all" + ("" if clause.metric in FACTS else f", on {where}")
        case "parity":
            return f"{metric} is at most {clause.limit:g}"
        case _:
            side = "at least" if clause.kind == "floor" else "at most"
            return f"{of} {metric} on {where} is {side} {clause.limit:g}, as measured"


def _standing(clause: Clause) -> str:
    if not clause.binding:
        return " (reported only)"
    return f" (reported only, below {ENOUGH_FAMILIES} unseen families)" if clause.needs_families else ""


def spread(rate: float) -> Sequence[float]:
    """Base rates of families that differ much, about a mean."""
    room = min(rate, 1 - rate)
    return tuple(rate + room * k / 2 for k in (-2, -1, 0, 1, 2))
