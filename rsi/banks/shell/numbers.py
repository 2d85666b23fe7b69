"""Families over numbers and columns."""

import random

from rsi.banks.content import NAMES, size, text, words
from rsi.banks.instance import Instance, family
from rsi.banks.shell.forms import SHELL, one_file, show


def _numbers(rng: random.Random, difficulty: int) -> list[int]:
    """Different numbers in neither numeric nor alphabetical order; these two differ (a single digit, some tens)."""
    chosen = [rng.randint(2, 9), *rng.sample(range(10, 20), 2), *rng.sample(range(20, 100), size(rng, difficulty) - 2)]
    while chosen == sorted(chosen) or sorted(map(str, chosen)) == list(map(str, chosen)):
        rng.shuffle(chosen)
    return chosen


@family(SHELL, "sum_numbers")
def sum_numbers(rng: random.Random, difficulty: int) -> Instance:
    chosen = _numbers(rng, difficulty)
    name, files = one_file(rng, text([str(n) for n in chosen]))
    command = f"awk '{{s+=$1}} END {{print s}}' {name}"
    return show(rng, difficulty, f"the sum of the numbers in {name}", command, str(sum(chosen)), files)


@family(SHELL, "sort_numbers")
def sort_numbers(rng: random.Random, difficulty: int) -> Instance:
    chosen = _numbers(rng, difficulty)
    name, files = one_file(rng, text([str(n) for n in chosen]))
    found = text([str(n) for n in sorted(chosen)])
    return show(rng, difficulty, f"the numbers of {name} from small to large", f"sort -n {name}", found, files)


@family(SHELL, "largest_number")
def largest_number(rng: random.Random, difficulty: int) -> Instance:
    chosen = _numbers(rng, difficulty)
    name, files = one_file(rng, text([str(n) for n in chosen]))
    command = f"sort -n {name} | tail -n 1"
    return show(rng, difficulty, f"the largest number in {name}", command, str(max(chosen)), files)


@family(SHELL, "smallest_number")
def smallest_number(rng: random.Random, difficulty: int) -> Instance:
    chosen = _numbers(rng, difficulty)
    name, files = one_file(rng, text([str(n) for n in chosen]))
    command = f"sort -n {name} | head -n 1"
    return show(rng, difficulty, f"the smallest number in {name}", command, str(min(chosen)), files)


@family(SHELL, "csv_column")
def csv_column(rng: random.Random, difficulty: int) -> Instance:
    height = size(rng, difficulty)
    rows = list(
        zip(rng.sample(NAMES, height), words(rng, height), map(str, rng.sample(range(10, 99), height)), strict=True)
    )
    n = rng.randint(1, 3)
    name, files = one_file(rng, text([",".join(row) for row in rows]), ".csv")
    found = text([row[n - 1] for row in rows])
    return show(rng, difficulty, f"column {n} of {name}", f"cut -d, -f{n} {name}", found, files)


@family(SHELL, "word_column")
def word_column(rng: random.Random, difficulty: int) -> Instance:
    height = size(rng, difficulty)
    rows = list(zip(words(rng, height), rng.sample(NAMES, height), words(rng, height), strict=True))
    n = rng.randint(1, 3)
    name, files = one_file(rng, text([" ".join(row) for row in rows]))
    found = text([row[n - 1] for row in rows])
    return show(rng, difficulty, f"word {n} of each line of {name}", f"awk '{{print ${n}}}' {name}", found, files)
