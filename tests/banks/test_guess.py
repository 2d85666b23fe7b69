"""What a guess earns: the same answer always, or a part of what the user says."""

import random
from dataclasses import replace

import pytest
from shipped_banks import shipped

from rsi.banks.check import check_bank
from rsi.banks.definition import BankDefinition
from rsi.banks.generated import GeneratedBank
from rsi.banks.guess import LIMIT, guess, measure
from rsi.banks.instance import Instance
from rsi.types import Certificate, FileCheck, OutputCheck, ProgramCheck

MENDED = ("count_lines", "count_words", "count_matches", "count_files", "sqlite_count", "git_author", "weekday")


def drafted(make, n: int = 400) -> list[Instance]:
    return [make(random.Random(seed), seed) for seed in range(n)]


def say(request, answer, mode="exact"):
    return Instance(request, answer, (OutputCheck(expected=answer, mode=mode),))


def talk(answers):
    """A conversation that is scored message by message."""
    checks = tuple((OutputCheck(expected=answer),) if answer else () for answer in answers)
    return Instance(
        "Hello 1", "[]", (), user_turns=tuple(f"Turn {n}" for n in range(2, len(answers) + 1)), turn_checks=checks
    )


GUESSED = {  # a family -> what a guess earns of it, about
    "one answer": (lambda rng, n: say(f"Ask {n}", "yes"), 1.0, "constant"),
    "two answers": (lambda rng, n: say(f"Ask {n}", rng.choice(("yes", "no"))), 0.5, "constant"),
    "three counts": (lambda rng, n: say(f"Ask {n}", str(rng.randint(2, 4)), "numeric"), 0.33, "constant"),
    "a lopsided count": (lambda rng, n: say(f"Ask {n}", str(1 + (rng.random() < 0.1)), "numeric"), 0.9, "constant"),
    "a number in two ways": (
        lambda rng, n: say(f"Ask {n}", rng.choice(("1", "1.0")), "numeric"),
        1.0,
        "constant",
    ),
    "lines in any order": (lambda rng, n: say(f"Ask {n}", rng.choice(("a\nb", "b\na")), "lines"), 1.0, "constant"),
    "space at the end": (lambda rng, n: say(f"Ask {n}", rng.choice(("a", "a\n", "a  \n"))), 1.0, "constant"),
    "a file's content": (
        lambda rng, n: Instance(f"Save {n}", "x", (FileCheck(path=f"{n % 4}.txt", content=str(rng.randint(1, 2))),)),
        0.5,
        "constant",
    ),
    "a file that stays beside it": (
        lambda rng, n: Instance(
            f"Save {n}", "x", (OutputCheck(expected=str(n % 2)), FileCheck(path="a", content=f"{n}\n")), {"a": f"{n}\n"}
        ),
        0.5,
        "constant",
    ),
    "a program's result": (
        lambda rng, n: Instance(f"Make {n}", "x", (ProgramCheck(command="cat a", expected=str(n % 3)),)),
        0.33,
        "constant",
    ),
    "noted": (lambda rng, n: talk(["noted", str(n), "noted", str(n + 1)]), 0.5, "constant"),
    "the whole request": (lambda rng, n: say(f"word{n}", f"word{n}"), 1.0, "copy"),
    "the last word": (lambda rng, n: say(f"Which is last: a{n}, b{n}, c{n}?", f"c{n}"), 1.0, "copy"),
    "the first word": (lambda rng, n: say(f"a{n} comes first?", f"a{n}"), 1.0, "copy"),
    "either of two": (lambda rng, n: say(f"Which: a{n} or b{n}?", f"{rng.choice('ab')}{n}"), 0.5, "copy"),
    "what is quoted": (lambda rng, n: say(f"{'Please ' * (n % 20)}echo 'a {n}' now", f"a {n}"), 1.0, "copy"),
    "what is quoted twice": (lambda rng, n: say(f'{"x " * (n % 30)}"a {n}" or "b {n}"', f"b {n}"), 1.0, "copy"),
    "a number": (lambda rng, n: say(f"Is {n} or {n + 900} larger?", str(n + 900), "numeric"), 1.0, "copy"),
    "a line": (lambda rng, n: say(f"Repeat:\nline no {n}\nthank you", f"line no {n}"), 1.0, "copy"),
    "a message's word": (
        lambda rng, n: replace(talk([f"{n}1", f"{n}2"]), request=f"Say {n}1", user_turns=(f"Say {n}2",)),
        1.0,
        "copy",
    ),
}
WORKED = {
    "a sum": lambda rng, n: say(f"What is {n} plus {n * 7}?", str(8 * n), "numeric"),
    "one of ten": lambda rng, n: say(f"Ask {n}", str(n % 10), "numeric"),
    "a file to write": lambda rng, n: Instance(f"Write 'w{n}' to a", "x", (FileCheck(path="a", content=f"w{n}"),)),
    "what is told is not scored": lambda rng, n: talk(["", str(n), "", str(n + 1)]),
    "a program": lambda rng, n: Instance(f"Make {n}", "x", (ProgramCheck(command="cat a", expected=str(n)),)),
}


@pytest.mark.parametrize("name", GUESSED)
def test_what_can_be_guessed_is_refused(name):
    make, earns, kind = GUESSED[name]
    constant, copied = guess(drafted(make))
    found = constant if kind == "constant" else copied
    assert abs(found.rate.value - earns) < 0.12 and found.rate.n == 200
    assert found.rate.low <= found.rate.value <= found.rate.high
    _, refused = measure(lambda n: drafted(make, n), None)
    assert "more than 20%" in refused and "n=200" in refused


@pytest.mark.parametrize("name", WORKED)
def test_work_is_not(name):
    assert measure(lambda n: drafted(WORKED[name], n), None)[1] == ""


def test_choices_allow_an_even_chance_and_no_more():
    even, uneven = GUESSED["two answers"][0], GUESSED["a lopsided count"][0]
    assert not measure(lambda n: drafted(even, n), 2)[1]
    assert "more than 60%" in measure(lambda n: drafted(uneven, n), 2)[1]


LARGE = [pytest.param(name, marks=pytest.mark.slow) for name in ("reason", "shell", "code", "ui", "talk")]


@pytest.mark.parametrize("name", ["route", *LARGE])
def test_no_family_that_ships_can_be_guessed(name):
    bank = shipped(name)
    families, labels = bank.definition.families, bank.definition.choices
    for group in [tuple(families)] if labels else [(one,) for one in families]:
        choices = labels or families[group[0]].choices
        for level in bank.levels(group[0]):
            both, refused = measure(lambda n, g=group, at=level: bank.drafts(g, at, n), choices)
            assert not refused, (group, level)
            assert choices or all(one.rate.value <= LIMIT for one in both)


@pytest.mark.parametrize("name", MENDED)
def test_the_counts_of_the_shell_bank_cannot_be_guessed(name):
    bank = shipped("shell")
    for level in bank.levels(name):
        assert not measure(lambda n, at=level: bank.drafts([name], at, n), None)[1], level


async def test_a_check_names_the_family_and_its_best_guess():
    async def certify(task, key):
        return Certificate(
            task_id=task.id, passed=True, reference_passes=True, nothing_fails=True, repeats=1, repeats_agree=True
        )

    definition = BankDefinition.model_validate(
        {
            "version": 1,
            "name": "mine",
            "generator": "mine",
            "specialist": "agent",
            "needs_sandbox": False,
            "splits": {split: {"instances": 2} for split in ("train", "selection", "sealed")},
            "families": {"coin": {"difficulty": [1, 1]}, "sum": {"difficulty": [1, 1]}},
        }
    )
    table = {
        "coin": lambda rng, level: say(f"Toss {rng.random()}", rng.choice(("heads", "tails"))),
        "sum": lambda rng, level: WORKED["a sum"](rng, rng.randint(1, 10**6)),
    }
    rows = await check_bank(GeneratedBank(definition, b"s" * 32, table, []), certify, 1)
    assert {row.family for row in rows if row.refused} == {"coin"}
    assert all("the constant answer" in row.refused for row in rows if row.family == "coin")
    assert all(len(row.guesses) == 2 for row in rows)
