"""Families of functions that are defined by themselves, or walk nested values."""

import random
from itertools import combinations
from typing import Any

from rsi.banks.code.arguments import whole
from rsi.banks.code.forms import Spec, pure
from rsi.banks.content import words


def nests(rng: random.Random) -> list[Any]:
    """Nine nested lists of whole numbers: empty, flat, deep."""

    def nest(depth: int) -> list[Any]:
        inner = [nest(depth - 1) for _ in range(rng.randint(0, 2))] if depth else []
        return rng.sample(made := [*inner, *(rng.randint(-9, 20) for _ in range(rng.randint(1, 3)))], len(made))

    return [[], [5], [[], [[]]], [[[rng.randint(1, 9)]]], *(nest(depth) for depth in (1, 2, 2, 3, 3, 4))]


def leaves(value: Any, depth: int = 0) -> list[tuple[int, int]]:
    """The numbers of a nested list, each with how many lists are around it."""
    stack, found = [(value, depth)], []
    while stack:
        one, level = stack.pop()
        if isinstance(one, list):
            stack += [(inner, level + 1) for inner in reversed(one)]
        else:
            found.append((one, level))
    return found


@pure
def flatten(rng: random.Random) -> Spec:
    least = rng.randint(-5, 5)
    rule = "ITEMS is a list of whole numbers and of such lists, to any depth. Return the flat list of its numbers\n"
    rule += f"from left to right that are at least {least}."
    body = "def flat(v):\n    return [x for i in v for x in flat(i)] if isinstance(v, list) else [v]\n"
    body += f"return [n for n in flat(ITEMS) if n >= {least}]"
    return Spec("ITEMS", rule, body, lambda v: [n for n, _ in leaves(v) if n >= least], nests(rng))


@pure
def weighted_depth(rng: random.Random) -> Spec:
    add = rng.randint(0, 3)
    rule = (
        "ITEMS is a list of whole numbers and of such lists, to any depth. Return the sum of the numbers, each times\n"
    )
    rule += f"(the number of lists around it + {add}); ITEMS itself counts as one."
    body = "def total(v, depth):\n    if not isinstance(v, list):\n        return v * depth\n"
    body += f"    return sum(total(i, depth + 1) for i in v)\nreturn total(ITEMS, {add})"
    return Spec("ITEMS", rule, body, lambda v: sum(n * (d + add) for n, d in leaves(v)), nests(rng))


@pure
def sequence_term(rng: random.Random) -> Spec:
    a, b, p, q = (rng.randint(1, 4) for _ in range(4))
    rule = (
        f"A sequence starts with {a}, {b}; each later term is {p} times the one before plus {q} times the one before\n"
    )
    rule += "that. Return the term NUM, counted from 0."
    body = f"a, b = {a}, {b}\nfor _ in range(NUM):\n    a, b = b, {p} * b + {q} * a\nreturn a"

    def expect(n: int) -> int:
        return (a, b)[n] if n < 2 else p * expect(n - 1) + q * expect(n - 2)

    return Spec("NUM", rule, body, expect, range(13))


@pure
def ways_to_climb(rng: random.Random) -> Spec:
    steps = sorted(rng.sample((1, 2, 3, 4, 5), rng.randint(2, 3)))
    shown = ", ".join(map(str, steps))
    rule = f"Return in how many ways NUM (0 or more) is a sum of numbers of {shown} (each any often), where another\n"
    rule += "order is another way; 0 has one way."
    body = "ways = [1]\nfor n in range(1, NUM + 1):\n"
    body += f"    ways.append(sum(ways[n - s] for s in {tuple(steps)} if s <= n))\n"
    body += "return ways[NUM]"

    def expect(n: int) -> int:
        return 1 if n == 0 else sum(expect(n - step) for step in steps if step <= n)

    return Spec("NUM", rule, body, expect, range(12))


@pure
def collatz_steps(rng: random.Random) -> Spec:
    end = rng.choice((1, 2, 4))
    rule = f"Halve NUM (above 0) where it is even, else triple it and add 1; go on until it is {end}.\n"
    rule += "Return the number of steps, 0 where it is that already."
    body = f"n = 0\nwhile NUM != {end}:\n    NUM, n = NUM // 2 if NUM % 2 == 0 else 3 * NUM + 1, n + 1\nreturn n"

    def expect(n: int) -> int:
        return 0 if n == end else 1 + expect(3 * n + 1 if n & 1 else n >> 1)

    return Spec("NUM", rule, body, expect, [*whole(rng, 3, 60), end, 4, 8, 27])


@pure
def orders(rng: random.Random) -> Spec:
    mark, down = rng.choice(("-", ">", "")), rng.random() < 0.5
    rule = f'Return all orders of the characters of TEXT (at most 4, all different) as strings joined by "{mark}",\n'
    rule += f"in {'reverse ' if down else ''}alphabetical order."
    body = f'from itertools import permutations\nreturn sorted(map("{mark}".join, permutations(TEXT)), reverse={down})'

    def expect(text: str) -> list[str]:
        def rest(left: str) -> list[str]:
            if len(left) < 2:
                return [left]
            return [c + mark + more for c in sorted(left) for more in rest(left.replace(c, ""))]

        found = rest(text)
        return found[::-1] if down else found

    args = ["".join(rng.sample("abcdefgh", n)) for n in (1, 2, 3, 3, 4, 2, 4, 3)]
    return Spec("TEXT", rule, body, expect, ["", "cba", "ab", "dcba", *args])


@pure
def subsets_with_sum(rng: random.Random) -> Spec:
    target = rng.randint(5, 14)
    rule = f"Return how many choices of positions of ITEMS (also none) have elements with a sum of {target} or more."
    body = "sums = [0]\nfor v in ITEMS:\n    sums += [s + v for s in sums]\n"
    body += f"return sum(s >= {target} for s in sums)"

    def expect(items: list[int]) -> int:
        return sum(sum(c) >= target for n in range(len(items) + 1) for c in combinations(items, n))

    args = [[rng.randint(-2, 9) for _ in range(n)] for n in (0, 1, 2, 3, 4, 5, 5, 6)]
    return Spec("ITEMS", rule, body, expect, [*args, [target], [target - 1, 1]])


@pure
def tree_sum(rng: random.Random) -> Spec:
    key, inner = words(rng, 2)
    rule = f'ITEMS is a dictionary with the number "{key}" and a list "{inner}" of such dictionaries, or without.\n'
    rule += f'Return the sum of all "{key}", those of the inner ones included.'
    body = f'def total(t):\n    return t.get("{key}", 0) + sum(total(i) for i in t.get("{inner}", []))\n'
    body += "return total(ITEMS)"

    def tree(depth: int) -> dict[str, Any]:
        made: dict[str, Any] = {key: rng.randint(1, 9)} if rng.random() < 0.8 else {}
        return {**made, inner: [tree(depth - 1) for _ in range(rng.randint(1, 2))]} if depth else made

    def expect(value: dict[str, Any]) -> int:
        left, total = [value], 0
        while left:
            one = left.pop()
            total += one.get(key, 0)
            left += one.get(inner, [])
        return total

    return Spec(
        "ITEMS", rule, body, expect, [{}, {key: 7}, {inner: []}, *(tree(n) for n in (0, 1, 1, 2, 2, 3)), {key: 3}]
    )
