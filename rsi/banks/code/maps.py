"""Families of functions of dictionaries."""

import itertools
import random
from collections import Counter, defaultdict
from typing import Any

from rsi.banks.code.arguments import lists
from rsi.banks.code.forms import Spec, pure
from rsi.banks.content import words


def stocks(rng: random.Random) -> list[dict[str, int]]:
    """Nine dictionaries of words and whole numbers: empty, of one entry, with equal values."""
    made = [{word: rng.randint(0, 12) for word in words(rng, n)} for n in (0, 1, 2, 3, 4, 5, 6)]
    a, b, c = words(rng, 3)
    return [*made, {a: 4, b: 4, c: 4}, {c: 0, a: 12, b: -3}]


@pure
def count_words(rng: random.Random) -> Spec:
    least = rng.randint(1, 2)
    rule = f"Return a dictionary from each element of ITEMS to how often it occurs, of those with {least} or more."
    body = f"return {{w: ITEMS.count(w) for w in ITEMS if ITEMS.count(w) >= {least}}}"

    def expect(items: list[str]) -> dict[str, int]:
        return {key: n for key, n in Counter(items).items() if n >= least}

    args = [*lists(rng), ["a", "b", "a", "c", "b", "a"]]
    return Spec("ITEMS", rule, body, expect, args)


@pure
def group_by_start(rng: random.Random) -> Spec:
    size = rng.randint(1, 3)
    rule = f"Return a dictionary from the first {size} characters of the words in ITEMS to the list of those words.\n"
    rule += "The words of a list keep their order."
    body = f"made = {{}}\nfor w in ITEMS:\n    made.setdefault(w[:{size}], []).append(w)\nreturn made"

    def expect(items: list[str]) -> dict[str, list[str]]:
        return {word[:size]: [other for other in items if other[:size] == word[:size]] for word in items}

    return Spec("ITEMS", rule, body, expect, [*lists(rng), ["peach", "pear", "plum", "peach"]])


@pure
def keep_above(rng: random.Random) -> Spec:
    least = rng.randint(2, 8)
    rule = f"Return a new dictionary with the entries of ITEMS whose value is at least {least}."
    body = f"return {{k: v for k, v in ITEMS.items() if v >= {least}}}"

    def expect(items: dict[str, int]) -> dict[str, int]:
        made = dict(items)
        for key in [key for key in made if made[key] < least]:
            del made[key]
        return made

    return Spec("ITEMS", rule, body, expect, stocks(rng))


@pure
def best_key(rng: random.Random) -> Spec:
    none, low = words(rng, 1)[0], rng.random() < 0.5
    kind = "smallest" if low else "largest"
    rule = f'Return the key of ITEMS with the {kind} value, of several the alphabetically first; "{none}" for none.'
    sign = "" if low else "-"
    body = f'return min(ITEMS, key=lambda k: ({sign}ITEMS[k], k), default="{none}")'

    def expect(items: dict[str, int]) -> str:
        wanted = (min if low else max)(items.values(), default=0)
        return min([key for key, value in items.items() if value == wanted], default=none)

    return Spec("ITEMS", rule, body, expect, stocks(rng))


@pure
def invert(rng: random.Random) -> Spec:
    mark = rng.choice(("n", "v", "id", "no"))
    rule = f'Return a dictionary from "{mark}" with a value of ITEMS, as "{mark}4", to the sorted list of its keys.'
    body = "made = {}\nfor k in sorted(ITEMS):\n"
    body += f'    made.setdefault("{mark}" + str(ITEMS[k]), []).append(k)\nreturn made'

    def expect(items: dict[str, int]) -> dict[str, list[str]]:
        made: defaultdict[str, list[str]] = defaultdict(list)
        for key, value in items.items():
            made[f"{mark}{value}"] = sorted([*made[f"{mark}{value}"], key])
        return dict(made)

    return Spec("ITEMS", rule, body, expect, stocks(rng))


@pure
def add_up(rng: random.Random) -> Spec:
    factor = rng.randint(2, 5)
    rule = (
        f"Return a dictionary with every key of ITEMS or OTHER, and its value in ITEMS plus {factor} times its value\n"
    )
    rule += "in OTHER; a missing one counts as 0."
    body = f"return {{k: ITEMS.get(k, 0) + {factor} * OTHER.get(k, 0) for k in list(ITEMS) + list(OTHER)}}"

    def expect(a: dict[str, int], b: dict[str, int]) -> dict[str, int]:
        made = dict(a)
        for key, value in b.items():
            made[key] = made[key] + factor * value if key in made else factor * value
        return made

    some = stocks(rng)
    args = [(one, {**dict(list(one.items())[:2]), **two}) for one, two in zip(some, some[::-1], strict=True)]
    return Spec("ITEMS, OTHER", rule, body, expect, args)


@pure
def total_price(rng: random.Random) -> Spec:
    limit, off = rng.randint(10, 20), rng.randint(2, 5)
    rule = "ITEMS is a list of pairs of a word and a price. Return the sum of the prices; "
    rule += (
        f"{off} less where there are 3 or more pairs,\nand another {off} less where the sum of prices is above {limit}."
    )
    body = f"s = sum(p for w, p in ITEMS)\nreturn s - {off} * (len(ITEMS) > 2) - {off} * (s > {limit})"

    def expect(items: list[tuple[str, int]]) -> int:
        total = sum(price for _, price in items)
        less = off if len(items) >= 3 else 0
        return total - less - (off if total > limit else 0)

    args = [[(word, rng.randint(1, 9)) for word in words(rng, n)] for n in (0, 1, 2, 2, 3, 3, 4, 5, 6)]
    return Spec("ITEMS", rule, body, expect, args)


@pure
def changed_keys(rng: random.Random) -> Spec:
    mark = rng.choice(("+", "new ", "added "))
    rule = "Return the sorted list of the keys whose values differ in ITEMS and OTHER,\n"
    rule += f'or which are in ITEMS only; a key in OTHER only is listed with "{mark}" in front (before sorting).'
    body = f'made = ["{mark}" + k for k in OTHER if k not in ITEMS]\n'
    body += "return sorted(made + [k for k in ITEMS if k not in OTHER or OTHER[k] != ITEMS[k]])"

    def expect(a: dict[str, int], b: dict[str, int]) -> list[str]:
        differ = {key for key, _ in a.items() ^ b.items()}
        return sorted(key if key in a else mark + key for key in differ)

    some = stocks(rng)
    args: list[Any] = [(one, {**one, **dict(list(two.items())[:2])}) for one, two in itertools.pairwise(some)]
    return Spec("ITEMS, OTHER", rule, body, expect, [*args, (some[5], {}), (some[4], some[3]), ({}, some[2])])
