"""Arithmetic. Difficulty 1 stays with small numbers; higher ones have more digits or one more step."""

import random

from rsi.banks.instance import Instance, family
from rsi.banks.reason.forms import REASON, number, word

_LIMIT = {1: 9, 2: 40}  # the greatest operand; 99 beyond


def _operand(rng: random.Random, difficulty: int) -> int:
    return rng.randint(1, _LIMIT.get(difficulty, 99))


@family(REASON, "add")
def add(rng: random.Random, difficulty: int) -> Instance:
    a, b = _operand(rng, difficulty), _operand(rng, difficulty)
    return number(f"What is {a} plus {b}?", a + b)


@family(REASON, "subtract")
def subtract(rng: random.Random, difficulty: int) -> Instance:
    b, rest = _operand(rng, difficulty), _operand(rng, difficulty)
    return number(f"What is {b + rest} minus {b}?", rest)


@family(REASON, "multiply")
def multiply(rng: random.Random, difficulty: int) -> Instance:
    a = rng.randint(2, (10, 15, 30)[difficulty - 1])
    b = rng.randint(1, 10)
    return number(f"What is {a} times {b}?", a * b)


@family(REASON, "add_three")
def add_three(rng: random.Random, difficulty: int) -> Instance:
    parts = [rng.randint(1, (6, 15, 40)[difficulty - 1]) for _ in range(3)]
    return number(f"What is {' plus '.join(map(str, parts))}?", sum(parts))


@family(REASON, "double")
def double(rng: random.Random, difficulty: int) -> Instance:
    a = rng.randint(1, (60, 200, 900)[difficulty - 1])
    return number(f"What is the double of {a}?", 2 * a)


@family(REASON, "one_more")
def one_more(rng: random.Random, difficulty: int) -> Instance:
    a = rng.randint(1, (98, 998, 9998)[difficulty - 1])
    return number(f"What number comes right after {a}?", a + 1)


@family(REASON, "next_in_sequence")
def next_in_sequence(rng: random.Random, difficulty: int) -> Instance:
    start, step = rng.randint(1, 20), rng.randint(1, (3, 6, 12)[difficulty - 1])
    shown = [start + step * n for n in range(4)]
    return number(f"Which number comes next: {', '.join(map(str, shown))}?", start + 4 * step)


@family(REASON, "even_or_odd")
def even_or_odd(rng: random.Random, difficulty: int) -> Instance:
    a = rng.randint(1, (99, 999, 9999)[difficulty - 1])
    return word(f"Is {a} even or odd?", "odd" if a % 2 else "even")


@family(REASON, "larger_number")
def larger_number(rng: random.Random, difficulty: int) -> Instance:
    a, b = rng.sample(range(1, (20, 100, 1000)[difficulty - 1]), 2)
    return number(f"Which number is larger, {a} or {b}?", max(a, b))


@family(REASON, "smallest_number")
def smallest_number(rng: random.Random, difficulty: int) -> Instance:
    chosen = rng.sample(range(1, (100, 300, 1000)[difficulty - 1]), 6 + difficulty)
    return number(f"Which number is the smallest: {', '.join(map(str, chosen))}?", min(chosen))


@family(REASON, "money")
def money(rng: random.Random, difficulty: int) -> Instance:
    price, count = rng.randint(1, (9, 12, 25)[difficulty - 1]), rng.randint(2, 9)
    return number(f"One ticket costs {price} coins. How many coins do {count} tickets cost?", price * count)
