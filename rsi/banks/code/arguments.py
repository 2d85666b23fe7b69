"""Hidden arguments, edge cases among them."""

import random

from rsi.banks.content import words


def whole(rng: random.Random, low: int = -50, high: int = 200, n: int = 9) -> list[int]:
    """Different whole numbers, with both ends, and 0 and 1 where they are between them."""
    edges = {low, high, *(value for value in (0, 1) if low <= value <= high)}
    return sorted(edges | set(rng.sample(range(low + 1, high), min(n, high - low - 1))))


def numbers(rng: random.Random, least: int = 0, low: int = -20, high: int = 20) -> list[list[int]]:
    """Ten different lists of whole numbers, of `least` elements or more: short, with repeats, in order, in reverse."""
    made = [[rng.randint(low, high) for _ in range(n)] for n in (least, least + 1, 3, 4, 5, 6, 7)]
    once = sorted(rng.sample(range(low, high + 1), 5))
    repeated = [rng.randint(low, high)] * 2 + [rng.randint(low, high)] * 3
    return [*made, once, once[::-1], repeated]


def lists(rng: random.Random, least: int = 0) -> list[list[str]]:
    """Nine lists of words, of `least` elements or more, some with repeats and capitals."""
    made = [words(rng, n) for n in (least, least + 1, 3, 4, 5)]
    base = words(rng, 3)
    return [*made, base + base[:1], base[::-1] + base, [base[0].title(), base[0], base[1]], [base[1]] * 3]


def texts(rng: random.Random, least: int = 0) -> list[str]:
    """Nine texts: empty (with `least` 0), words, capitals, digits, marks, double spaces, repeated letters."""
    a, b, c, d = words(rng, 4)
    made = [a, f"{a} {b}", f"{b.title()} {c} {d.upper()}", f"{c}  {c}, {a}!", f"{d}{rng.randint(10, 99)} {a[0]}"]
    return [*made, a[::-1] + a, f" {b} {b} ", "x", *([""] if not least else [f"{a}-{b}_{c}"]), "Aa" + c[:2] * 3]
