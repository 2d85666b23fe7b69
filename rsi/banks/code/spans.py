"""Families of functions of intervals: pairs of a start and an end, the end not included."""

import itertools
import random

from rsi.banks.code.arguments import whole
from rsi.banks.code.forms import Spec, pure

Spans = list[tuple[int, int]]
WHAT = "ITEMS is a list of pairs (start, end) of whole numbers from 0 to 40, start < end, the end not included."


def spans(rng: random.Random) -> list[Spans]:
    """Ten lists: none, one, many, touching ones, one inside another."""

    def some(n: int) -> Spans:
        starts = [rng.randint(0, 34) for _ in range(n)]
        return [(start, start + rng.randint(1, 6)) for start in starts]

    return [[], *(some(n) for n in (1, 2, 3, 4, 5, 6)), [(1, 4), (4, 7)], [(2, 20), (5, 9)], [(8, 9), (1, 3), (8, 9)]]


def counts(items: Spans) -> list[int]:
    """How many spans cover each of the points 0 to 47."""
    return [sum(start <= point < end for start, end in items) for point in range(48)]


@pure
def merge_spans(rng: random.Random) -> Spec:
    gap = rng.randint(0, 3)
    rule = (
        f"{WHAT}\nReturn the sorted list of pairs where those are joined between whose end and start are {gap} or less."
    )
    body = f"made = []\nfor a, b in sorted(ITEMS):\n    if made and a - made[-1][1] <= {gap}:\n"
    body += "        made[-1][1] = max(b, made[-1][1])\n    else:\n        made.append([a, b])\nreturn made"

    def expect(items: Spans) -> list[list[int]]:
        made = [list(item) for item in items]
        joined = True
        while joined:
            joined = False
            for one in made:
                near = [o for o in made if o is not one and o[0] - one[1] <= gap and one[0] - o[1] <= gap]
                if near:
                    made = [o for o in made if o is not one and o is not near[0]]
                    made.append([min(one[0], near[0][0]), max(one[1], near[0][1])])
                    joined = True
                    break
        return sorted(made)

    return Spec("ITEMS", rule, body, expect, spans(rng))


@pure
def covered_length(rng: random.Random) -> Spec:
    least = rng.randint(1, 2)
    rule = f"{WHAT}\nReturn how many whole numbers are in at least {least} of the pairs."
    body = "points = [p for a, b in ITEMS for p in range(a, b)]\n"
    body += f"return sum(points.count(p) >= {least} for p in set(points))"
    return Spec("ITEMS", rule, body, lambda items: sum(n >= least for n in counts(items)), spans(rng))


@pure
def most_at_once(rng: random.Random) -> Spec:
    add = rng.randint(1, 9)
    rule = f"{WHAT}\nReturn the largest number of pairs that hold the same whole number, plus {add}."
    body = f"return max((sum(a <= s < b for a, b in ITEMS) for s, _ in ITEMS), default=0) + {add}"
    return Spec("ITEMS", rule, body, lambda items: max(counts(items)) + add, spans(rng))


@pure
def gaps(rng: random.Random) -> Spec:
    low, high = rng.randint(0, 8), rng.randint(30, 40)
    rule = f"{WHAT}\nReturn the sorted list of the pairs [start, end] of {low} to {high} that none of them covers."
    body = f"made, at = [], {low}\nfor a, b in sorted(ITEMS) + [({high}, {high})]:\n"
    body += f"    if min(a, {high}) > at:\n        made.append([at, min(a, {high})])\n    at = max(at, b)\nreturn made"

    def expect(items: Spans) -> list[list[int]]:
        free = [low <= point < high and not n for point, n in enumerate(counts(items))]
        starts = [p for p in range(48) if free[p] and not (p and free[p - 1])]
        return [[p, next(q for q in range(p, 48) if not free[q])] for p in starts]

    return Spec("ITEMS", rule, body, expect, spans(rng))


@pure
def overlap_length(rng: random.Random) -> Spec:
    none = rng.randint(-9, -1)
    rule = "ITEMS and OTHER are pairs (start, end) of whole numbers, start < end, the end not included.\n"
    rule += f"Return how many whole numbers are in both, or {none} where there is none."
    body = f"n = min(ITEMS[1], OTHER[1]) - max(ITEMS[0], OTHER[0])\nreturn n if n > 0 else {none}"

    def expect(a: tuple[int, int], b: tuple[int, int]) -> int:
        return len(set(range(*a)) & set(range(*b))) or none

    pool = [(start, start + rng.randint(1, 15)) for start in (rng.randint(0, 20) for _ in range(9))]
    args = [*itertools.pairwise(pool), ((1, 4), (4, 8)), ((0, 9), (3, 5)), ((2, 6), (2, 6))]
    return Spec("ITEMS, OTHER", rule, body, expect, args)


@pure
def most_meetings(rng: random.Random) -> Spec:
    rest = rng.randint(0, 3)
    rule = (
        f"{WHAT}\nReturn how many of them can be chosen at most so that between the end of one and the start of the\n"
    )
    rule += f"next there are at least {rest}."
    body = "n, free = 0, -9\nfor b, a in sorted((b, a) for a, b in ITEMS):\n"
    body += f"    if a >= free:\n        n, free = n + 1, b + {rest}\n"
    body += "return n"

    def expect(items: Spans) -> int:
        best = [0]
        for _start, _end in (order := sorted(items, key=lambda item: item[0])):
            best.append(0)
        for i in reversed(range(len(order))):
            after = next((j for j in range(i + 1, len(order)) if order[j][0] >= order[i][1] + rest), len(order))
            best[i] = max(best[i + 1], 1 + best[after])
        return best[0]

    return Spec("ITEMS", rule, body, expect, spans(rng))


@pure
def which_bin(rng: random.Random) -> Spec:
    edges = sorted(rng.sample(range(-30, 150), 4))
    shown = ", ".join(map(str, edges))
    rule = f"The numbers {shown} cut the whole numbers into five ranges, each edge begins the range after it.\n"
    rule += "Return the number of the range of NUM, from 0 (the lowest) to 4."
    body = f"return sum(NUM >= e for e in {edges})"

    def expect(n: int) -> int:
        return next((i for i, edge in enumerate(edges) if n < edge), 4)

    return Spec("NUM", rule, body, expect, [*whole(rng, -40, 160), *edges, edges[0] - 1])
