"""Families of functions of lists."""

import random
from itertools import groupby

from rsi.banks.code.arguments import lists, numbers
from rsi.banks.code.forms import Spec, pure


@pure
def sum_above(rng: random.Random) -> Spec:
    least = rng.randint(-5, 8)
    rule = f"Return the sum of the numbers in ITEMS that are above {least}."
    body = f"return sum(v for v in ITEMS if v > {least})"

    def expect(items: list[int]) -> int:
        total = 0
        for value in sorted(items, reverse=True):
            if value <= least:
                break
            total += value
        return total

    return Spec("ITEMS", rule, body, expect, numbers(rng))


@pure
def rotate(rng: random.Random) -> Spec:
    k = rng.randint(1, 5)
    rule = f"Return ITEMS rotated by {k} places to the left, as a new list; an empty one stays empty."
    body = f"n = {k} % len(ITEMS) if ITEMS else 0\nreturn ITEMS[n:] + ITEMS[:n]"

    def expect(items: list[int]) -> list[int]:
        made = list(items)
        for _ in range(k if made else 0):
            made.append(made.pop(0))
        return made

    return Spec("ITEMS", rule, body, expect, numbers(rng))


@pure
def chunks(rng: random.Random) -> Spec:
    size = rng.randint(2, 4)
    rule = f"Split ITEMS into consecutive lists of {size} elements; the last one may be shorter."
    body = f"return [ITEMS[i:i + {size}] for i in range(0, len(ITEMS), {size})]"

    def expect(items: list[int]) -> list[list[int]]:
        made: list[list[int]] = []
        for value in items:
            if not made or len(made[-1]) == size:
                made.append([])
            made[-1].append(value)
        return made

    return Spec("ITEMS", rule, body, expect, numbers(rng))


@pure
def distinct(rng: random.Random) -> Spec:
    most = rng.randint(1, 2)
    rule = f"Return ITEMS without the elements that occurred {most} times before; the order stays."
    body = f"made = []\nfor v in ITEMS:\n    if made.count(v) < {most}:\n        made.append(v)\nreturn made"

    def expect(items: list[str]) -> list[str]:
        return [value for i, value in enumerate(items) if items[:i].count(value) < most]

    return Spec("ITEMS", rule, body, expect, [*lists(rng), ["a", "a", "b", "a", "b", "b"]])


@pure
def second_largest(rng: random.Random) -> Spec:
    other = rng.randint(-99, -50)
    rule = f"Return the second largest different value in ITEMS, or {other} where there is none."
    body = f"found = sorted(set(ITEMS))\nreturn found[-2] if len(found) > 1 else {other}"

    def expect(items: list[int]) -> int:
        return max([value for value in items if value != max(items)], default=other)

    return Spec("ITEMS", rule, body, expect, [*numbers(rng), [4, 4, 4], [7, 7, 3]])


@pure
def running_total(rng: random.Random) -> Spec:
    limit = rng.randint(20, 40)
    rule = (
        f"Return the list of running sums of ITEMS; a sum above {limit} is replaced by 0 and counting goes on from 0."
    )
    body = (
        f"made, s = [], 0\nfor v in ITEMS:\n    s = s + v if s + v <= {limit} else 0\n    made.append(s)\nreturn made"
    )

    def expect(items: list[int]) -> list[int]:
        if not items:
            return []
        before = expect(items[:-1])
        total = (before[-1] if before else 0) + items[-1]
        return [*before, 0 if total > limit else total]

    return Spec("ITEMS", rule, body, expect, numbers(rng, 0, -5, 25))


@pure
def by_length(rng: random.Random) -> Spec:
    down = rng.random() < 0.5
    order = "longest" if down else "shortest"
    rule = f"Return the words in ITEMS sorted by length, {order} first, equally long ones in alphabetical order."
    body = f"return sorted(ITEMS, key=lambda w: ({'-' if down else ''}len(w), w))"
    return Spec("ITEMS", rule, body, lambda w: sorted(sorted(w), key=len, reverse=down), lists(rng))


@pure
def longest_run(rng: random.Random) -> Spec:
    least = rng.randint(-3, 3)
    rule = f"Return the length of the longest run of consecutive elements of ITEMS that are all at least {least}."
    body = f"best = n = 0\nfor v in ITEMS:\n    n = n + 1 if v >= {least} else 0\n    best = max(best, n)\nreturn best"

    def expect(items: list[int]) -> int:
        return max((len(list(run)) for good, run in groupby(items, lambda v: v >= least) if good), default=0)

    return Spec("ITEMS", rule, body, expect, numbers(rng))


@pure
def local_peaks(rng: random.Random) -> Spec:
    more = rng.randint(1, 4)
    rule = f"Return the positions (from 0) of the elements of ITEMS that exceed both neighbours by {more} or more.\n"
    rule += "The first and the last element are no peaks."
    body = f"return [i for i in range(1, len(ITEMS) - 1) if ITEMS[i] - max(ITEMS[i - 1], ITEMS[i + 1]) >= {more}]"

    def expect(items: list[int]) -> list[int]:
        triples = enumerate(zip(items, items[1:], items[2:], strict=False), 1)
        return [i for i, (a, b, c) in triples if b - a >= more and b - c >= more]

    return Spec("ITEMS", rule, body, expect, [*numbers(rng), [1, 1 + more, 1, more, 0], [0, 9, 2, 30, 3]])


@pure
def pairs_with_sum(rng: random.Random) -> Spec:
    target = rng.randint(-3, 12)
    rule = f"Return how many pairs of positions i < j of ITEMS have elements whose sum is {target}."
    body = f"seen, n = [], 0\nfor v in ITEMS:\n    n += seen.count({target} - v)\n    seen.append(v)\nreturn n"

    def expect(items: list[int]) -> int:
        return sum(a + b == target for i, a in enumerate(items) for b in items[i + 1 :])

    exact = [target, 0, 1, target - 1]
    return Spec("ITEMS", rule, body, expect, [*numbers(rng), exact, exact * 2])


@pure
def merge_sorted(rng: random.Random) -> Spec:
    down = rng.random() < 0.5
    order = ("falling" if down else "rising") + rng.choice((", equal ones once", ""))
    once = "once" in order
    rule = f"Return one list with the elements of ITEMS and OTHER (lists of numbers) in {order}."
    body = f"made = {'set(ITEMS + OTHER)' if once else 'ITEMS + OTHER'}\nreturn sorted(made, reverse={down})"

    def expect(a: list[int], b: list[int]) -> list[int]:
        made: list[int] = []
        for value in [*a, *b]:
            if not once or value not in made:
                made.insert(sum((x > value) if down else (x < value) for x in made), value)
        return made

    some, more = numbers(rng, 0, 0, 9), numbers(rng, 0, 0, 9)
    return Spec("ITEMS, OTHER", rule, body, expect, list(zip(some, more[::-1], strict=True)))


@pure
def take_every(rng: random.Random) -> Spec:
    step, start = rng.randint(2, 3), rng.randint(0, 2)
    rule = f"Return every element of ITEMS whose position (from 0) is {start} or later, in steps of {step} from there."
    body = f"return ITEMS[{start}::{step}]"

    def expect(items: list[str]) -> list[str]:
        return [value for i, value in enumerate(items) if i >= start and (i - start) % step == 0]

    return Spec("ITEMS", rule, body, expect, lists(rng))
