"""Families of functions of matrices (lists of rows of whole numbers)."""

import random

from rsi.banks.code.forms import Spec, pure

Grid = list[list[int]]
SHAPES = ((1, 1), (1, 4), (4, 1), (2, 2), (2, 3), (3, 2), (3, 3), (4, 3), (5, 5))


def grids(rng: random.Random, low: int = 0, high: int = 9) -> list[Grid]:
    return [[[rng.randint(low, high) for _ in range(columns)] for _ in range(rows)] for rows, columns in SHAPES]


@pure
def scaled_transpose(rng: random.Random) -> Spec:
    factor = rng.randint(2, 9)
    rule = f"Return the matrix ITEMS with rows and columns exchanged and every number times {factor}."
    body = f"return [[{factor} * v for v in c] for c in zip(*ITEMS)]"

    def expect(grid: Grid) -> Grid:
        return [[grid[r][c] * factor for r in range(len(grid))] for c in range(len(grid[0]))]

    return Spec("ITEMS", rule, body, expect, grids(rng))


@pure
def turn_right(rng: random.Random) -> Spec:
    times = rng.randint(1, 3)
    rule = f"Return the matrix ITEMS turned clockwise by {90 * times} degrees."
    body = f"for _ in range({times}):\n    ITEMS = [list(r) for r in zip(*ITEMS[::-1])]\nreturn ITEMS"

    def expect(grid: Grid) -> Grid:
        rows, columns = len(grid), len(grid[0])
        if times == 2:
            return [row[::-1] for row in reversed(grid)]
        if times == 1:
            return [[grid[rows - 1 - c][r] for c in range(rows)] for r in range(columns)]
        return [[grid[c][columns - 1 - r] for c in range(rows)] for r in range(columns)]

    return Spec("ITEMS", rule, body, expect, grids(rng))


@pure
def row_sums(rng: random.Random) -> Spec:
    column, least = rng.random() < 0.5, rng.randint(1, 5)
    kind = "column" if column else "row"
    rule = f"Return the list of the sums of each {kind} of the matrix ITEMS, of its numbers that are at least {least}."
    body = f"return [sum(v for v in r if v >= {least}) for r in {'zip(*ITEMS)' if column else 'ITEMS'}]"

    def expect(grid: Grid) -> list[int]:
        made = [0] * (len(grid[0]) if column else len(grid))
        for r, row in enumerate(grid):
            for c, value in enumerate(row):
                made[c if column else r] += value if value >= least else 0
        return made

    return Spec("ITEMS", rule, body, expect, grids(rng))


@pure
def diagonal_sum(rng: random.Random) -> Spec:
    a, b = rng.randint(2, 5), rng.randint(2, 5)
    rule = f"ITEMS is a square matrix. Return {a} times the sum of the diagonal from the top left to the bottom right\n"
    rule += f"plus {b} times the sum of the other diagonal."
    body = f"n = len(ITEMS)\nreturn sum({a} * ITEMS[i][i] + {b} * ITEMS[i][n - 1 - i] for i in range(n))"

    def expect(grid: Grid) -> int:
        cells = [(r, c, v) for r, row in enumerate(grid) for c, v in enumerate(row)]
        return a * sum(v for r, c, v in cells if r == c) + b * sum(v for r, c, v in cells if r + c == len(grid) - 1)

    args = [[[rng.randint(-5, 9) for _ in range(n)] for _ in range(n)] for n in (0, 1, 1, 2, 2, 3, 3, 4, 5)]
    return Spec("ITEMS", rule, body, expect, args)


@pure
def count_neighbours(rng: random.Random) -> Spec:
    wanted = rng.randint(1, 3)
    rule = f"Return how many cells of the matrix ITEMS have exactly {wanted} neighbours (above, below, left, right)\n"
    rule += "with the same number as theirs."
    body = "def at(r, c):\n    return ITEMS[r][c] if 0 <= r < len(ITEMS) and 0 <= c < len(ITEMS[0]) else None\n"
    body += "near = [(0, 1), (1, 0), (0, -1), (-1, 0)]\n"
    body += "cells = [(r, c) for r in range(len(ITEMS)) for c in range(len(ITEMS[0]))]\n"
    body += f"return sum(sum(at(r + y, c + x) == ITEMS[r][c] for y, x in near) == {wanted} for r, c in cells)"

    def expect(grid: Grid) -> int:
        known = {(r, c): v for r, row in enumerate(grid) for c, v in enumerate(row)}
        counts = dict.fromkeys(known, 0)
        for (r, c), value in known.items():
            for other in ((r + 1, c), (r, c + 1)):
                if other in known and known[other] == value:
                    counts[r, c] += 1
                    counts[other] += 1
        return sum(count == wanted for count in counts.values())

    return Spec("ITEMS", rule, body, expect, [*grids(rng, 0, 1), [[1, 1, 1], [1, 1, 1]], [[1, 1], [1, 1]], [[2, 2, 2]]])


@pure
def spiral(rng: random.Random) -> Spec:
    skip = rng.randint(1, 2)
    rule = (
        "Return the numbers of the matrix ITEMS in a spiral: the first row from the left, down the last column, and\n"
    )
    rule += "so on inwards" + (", but of these only every second one, from the first on." if skip == 2 else ".")
    body = "made = []\nwhile ITEMS:\n    made += ITEMS[0]\n    ITEMS = [list(r) for r in zip(*ITEMS[1:])][::-1]\n"
    body += f"return made[::{skip}]"

    def expect(grid: Grid) -> list[int]:
        r, c, turn, seen, made = 0, 0, 0, set(), []
        ways = ((0, 1), (1, 0), (0, -1), (-1, 0))
        for _ in range(len(grid) * len(grid[0])):
            made.append(grid[r][c])
            seen.add((r, c))
            for way in (turn, turn + 1):
                y, x = r + ways[way % 4][0], c + ways[way % 4][1]
                if 0 <= y < len(grid) and 0 <= x < len(grid[0]) and (y, x) not in seen:
                    r, c, turn = y, x, way
                    break
        return made[::skip]

    return Spec("ITEMS", rule, body, expect, grids(rng))


@pure
def matrix_product(rng: random.Random) -> Spec:
    modulus = rng.randint(5, 40)
    rule = f"Return the matrix product of ITEMS and OTHER, each number of it modulo {modulus}; raise ValueError where\n"
    rule += "the rows of ITEMS are not as long as OTHER has rows."
    body = "if len(ITEMS[0]) != len(OTHER):\n    raise ValueError\n"
    body += f"return [[sum(a * b for a, b in zip(r, c)) % {modulus} for c in zip(*OTHER)] for r in ITEMS]"

    def expect(a: Grid, b: Grid) -> Grid:
        if {len(row) for row in a} != {len(b)}:
            raise ValueError
        made = [[0] * len(b[0]) for _ in a]
        for i, row in enumerate(a):
            for k, value in enumerate(row):
                for j, other in enumerate(b[k]):
                    made[i][j] = (made[i][j] + value * other) % modulus
        return made

    def grid(rows: int, columns: int) -> Grid:
        return [[rng.randint(0, 9) for _ in range(columns)] for _ in range(rows)]

    shapes = ((1, 1, 1), (1, 2, 1), (2, 2, 2), (2, 3, 2), (3, 2, 3), (1, 4, 2), (3, 3, 3), (2, 1, 3))
    fits = [(grid(a, b), grid(b, c)) for a, b, c in shapes]
    return Spec("ITEMS, OTHER", rule, body, expect, [*fits, (grid(2, 3), grid(2, 3)), (grid(1, 2), grid(3, 1))])
