"""A chain that is whole may still tell a history that no gate would have written."""

import json

import pytest

from rsi.gate.lawful import breaches
from rsi.gate.ledger import KINDS, append

START = ("promotion", {"seq": 1, "pair": "a", "previous": None, "kind": "start", "look": None})
LOOK = ("look", {"generation": 1, "champion": "a", "candidate": "b", "sealed": "s1", "alpha": 0.01, "spent": 0.0})


def step(kind, pair, previous, look=None, seq=2):
    return ("promotion", {"seq": seq, "pair": pair, "previous": previous, "kind": kind, "look": look})


def name_of(look):
    from rsi.ids import digest

    return digest(look[1])


def verdict(decision="promote", look=LOOK):
    on = {name: look[1].get(name) for name in ("contract", "champion", "candidate", "sealed")}
    evidence = {
        "clauses": [{"name": "gain", "binding": True, "held": True}, {"binding": False, "held": False}],
        "digests": {**on, "attempts": "d"},
    }
    return ("verdict", {"look": name_of(look), "decision": decision, **evidence})


def clauses(*results):
    """A verdict that promotes with clauses of the given (binding, held)."""
    told = [{"name": str(i), "binding": binding, "held": held} for i, (binding, held) in enumerate(results)]
    return ("verdict", {**verdict()[1], "clauses": told})


def without(*path):
    """A verdict that promotes, but for one piece of its evidence."""
    name, made = verdict()
    holder = made[path[0]] if len(path) > 1 else made
    return (name, {**made, path[0]: {k: v for k, v in holder.items() if k != path[1]}} if len(path) > 1
            else {k: v for k, v in made.items() if k != path[0]})  # fmt: skip


def second(**changes):
    return ("look", {**LOOK[1], "generation": 2, "sealed": "s2", "spent": 0.01, **changes})


def found(*contents):
    entries = []
    for kind, content in contents:
        known = kind if kind in KINDS else "review"
        text = content if isinstance(content, str) else json.dumps(content)
        made = append(entries[-1] if entries else None, "main", known, text, 0.0)
        entries.append(made.model_copy(update={"kind": kind}))
    return breaches(entries)


HISTORY = (START, LOOK, verdict(), step("promotion", "b", "a", name_of(LOOK)))


def test_a_lawful_history_has_no_breach():
    assert found(*HISTORY, second(champion="b", candidate="c"), step("rollback", "a", "b", seq=3)) == []
    assert found() == [] and found(("review", {"text": "any"}), ("canary", {})) == []
    assert found(START, second(spent=0.0, shard_looks=2), ("look", {**second()[1], "generation": 3})) != []


@pytest.mark.parametrize(
    ("history", "message"),
    [
        ((*HISTORY, START), "starts the lineage a second time"),
        ((step("promotion", "b", "a", name_of(LOOK)),), "no verdict"),
        ((START, LOOK, step("promotion", "b", "a", name_of(LOOK))), "no verdict"),
        ((START, LOOK, verdict("reject"), step("promotion", "b", "a", name_of(LOOK))), "no verdict"),
        ((START, LOOK, verdict(), step("promotion", "c", "a", name_of(LOOK))), "another candidate"),
        ((*HISTORY, step("promotion", "b", "b", name_of(LOOK), 3)), "a second time"),
        ((*HISTORY, step("rollback", "c", "b", seq=3)), "never champion"),
        ((*HISTORY, step("rollback", "b", "b", seq=3)), "is champion"),
        ((*HISTORY, step("rollback", "a", "a", seq=3)), "does not follow champion"),
        ((START, verdict()), "no recorded look"),
        ((START, LOOK, verdict(), verdict("reject")), "second verdict"),
        ((START, LOOK, second(generation=1)), "second look in generation 1"),
        ((START, LOOK, second(sealed="s1")), "looks at one shard"),
        ((START, LOOK, second(spent=0.0)), "spent"),
        ((*HISTORY, second(champion="a"), verdict(look=second()), step("promotion", "b", "b", "x", 3)), "no verdict"),
        ((START, LOOK, second(alpha=0.05, budget=0.05)), "may spend"),
        ((START, ("look", {**LOOK[1], "budget": 0.05}), second(budget=0.1)), "widens"),
        ((START, LOOK, without("clauses")), "no clause of the contract binds"),
        ((START, LOOK, ("verdict", {**verdict()[1], "clauses": []})), "no clause of the contract binds"),
        (
            (START, LOOK, ("verdict", {**verdict()[1], "clauses": [{"binding": False, "held": True}]})),
            "no clause of the contract binds",
        ),
        ((START, LOOK, clauses([True, True], [True, False])), "'1' did not hold"),
        ((START, LOOK, clauses([True, None])), "'0' did not hold"),
        ((START, LOOK, clauses([None, False], [None, True])), "'0' did not hold"),
        ((START, LOOK, ("verdict", {**verdict()[1], "clauses": [1]})), "no record"),
        ((START, LOOK, ("verdict", {**verdict()[1], "batches": [9, 8]})), "after 9 of 8 batches"),
        ((START, LOOK, ("verdict", {**verdict()[1], "batches": [0, 8]})), "after 0 of 8 batches"),
        ((START, LOOK, ("verdict", {**verdict()[1], "batches": 3})), "no record"),
        ((START, LOOK, without("digests")), "without the champion of its look"),
        ((START, LOOK, without("digests", "candidate")), "without the candidate of its look"),
        ((START, LOOK, without("digests", "sealed")), "without the sealed of its look"),
        ((START, LOOK, without("digests", "attempts")), "names no attempts"),
        ((START, ("look", "{")), "no record"),
        ((START, ("look", "[]")), "no record"),
        ((START, ("look", {**LOOK[1], "alpha": "much", "spent": "x"})), "no record"),
        ((START, ("verdict", {})), "no recorded look"),
        ((START, ("gift", {})), "unknown kind"),
    ],
)
def test_a_history_that_no_gate_would_have_written(history, message):
    assert any(message in line for line in found(*history)), found(*history)


def test_a_verdict_against_a_former_champion_promotes_nothing():
    late = second(candidate="c")
    history = (*HISTORY, late, verdict(look=late), step("promotion", "c", "b", name_of(late), 3))
    assert any("against another champion" in line for line in found(*history))
