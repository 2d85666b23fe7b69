"""Families that choose or order lines."""

import random
from collections import Counter

from rsi.banks.content import size, text, unsorted, words
from rsi.banks.instance import Instance, family
from rsi.banks.shell.forms import SHELL, one_file, show


@family(SHELL, "first_lines")
def first_lines(rng: random.Random, difficulty: int) -> Instance:
    rows = words(rng, size(rng, difficulty))
    n = rng.randint(2, len(rows) - 1)
    name, files = one_file(rng, text(rows))
    return show(rng, difficulty, f"the first {n} lines of {name}", f"head -n {n} {name}", text(rows[:n]), files)


@family(SHELL, "last_lines")
def last_lines(rng: random.Random, difficulty: int) -> Instance:
    rows = words(rng, size(rng, difficulty))
    n = rng.randint(2, len(rows) - 1)
    name, files = one_file(rng, text(rows))
    return show(rng, difficulty, f"the last {n} lines of {name}", f"tail -n {n} {name}", text(rows[-n:]), files)


@family(SHELL, "line_number")
def line_number(rng: random.Random, difficulty: int) -> Instance:
    rows = words(rng, size(rng, difficulty))
    n = rng.randint(2, len(rows))
    name, files = one_file(rng, text(rows))
    return show(rng, difficulty, f"line number {n} of {name}", f"sed -n '{n}p' {name}", text(rows[n - 1 : n]), files)


@family(SHELL, "line_range")
def line_range(rng: random.Random, difficulty: int) -> Instance:
    rows = words(rng, 1 + size(rng, difficulty))
    first = rng.randint(2, len(rows) - 1)
    last = rng.randint(first + 1, len(rows))
    name, files = one_file(rng, text(rows))
    what, command = f"lines {first} to {last} of {name}", f"sed -n '{first},{last}p' {name}"
    return show(rng, difficulty, what, command, text(rows[first - 1 : last]), files)


@family(SHELL, "skip_first")
def skip_first(rng: random.Random, difficulty: int) -> Instance:
    rows = words(rng, size(rng, difficulty))
    name, files = one_file(rng, text(rows))
    return show(rng, difficulty, f"{name} without its first line", f"tail -n +2 {name}", text(rows[1:]), files)


def _tagged(rng: random.Random, difficulty: int) -> tuple[str, list[str]]:
    """A word, and rows of which some, but not all, hold it."""
    word, *others = words(rng, 2 + size(rng, difficulty))
    rows = [f"{other} {word}" if index % 2 else other for index, other in enumerate(others)]
    rng.shuffle(rows)
    return word, rows


@family(SHELL, "matching_lines")
def matching_lines(rng: random.Random, difficulty: int) -> Instance:
    word, rows = _tagged(rng, difficulty)
    name, files = one_file(rng, text(rows))
    found = text([row for row in rows if word in row])
    return show(rng, difficulty, f"the lines of {name} with '{word}'", f"grep '{word}' {name}", found, files)


@family(SHELL, "lines_without")
def lines_without(rng: random.Random, difficulty: int) -> Instance:
    word, rows = _tagged(rng, difficulty)
    name, files = one_file(rng, text(rows))
    found = text([row for row in rows if word not in row])
    return show(rng, difficulty, f"the lines of {name} without '{word}'", f"grep -v '{word}' {name}", found, files)


@family(SHELL, "numbered_matches")
def numbered_matches(rng: random.Random, difficulty: int) -> Instance:
    word, rows = _tagged(rng, difficulty)
    name, files = one_file(rng, text(rows))
    found = text([f"{n}:{row}" for n, row in enumerate(rows, 1) if word in row])
    what = f"the lines of {name} with '{word}' and their line numbers"
    return show(rng, difficulty, what, f"grep -n '{word}' {name}", found, files)


@family(SHELL, "sort_lines")
def sort_lines(rng: random.Random, difficulty: int) -> Instance:
    rows = unsorted(rng, words(rng, size(rng, difficulty)))
    name, files = one_file(rng, text(rows))
    return show(rng, difficulty, f"the lines of {name} in sorted order", f"sort {name}", text(sorted(rows)), files)


@family(SHELL, "reverse_lines")
def reverse_lines(rng: random.Random, difficulty: int) -> Instance:
    rows = unsorted(rng, words(rng, size(rng, difficulty)))
    name, files = one_file(rng, text(rows))
    return show(rng, difficulty, f"the lines of {name} from last to first", f"tac {name}", text(rows[::-1]), files)


def _repeats(rng: random.Random, difficulty: int) -> list[str]:
    """Rows in which exactly one word is the most frequent, unsorted."""
    often, *others = words(rng, size(rng, difficulty))
    rows = [often] * 3 + others + others[: difficulty - 1]
    return unsorted(rng, rows)


@family(SHELL, "unique_lines")
def unique_lines(rng: random.Random, difficulty: int) -> Instance:
    rows = _repeats(rng, difficulty)
    name, files = one_file(rng, text(rows))
    what = f"the lines of {name} in sorted order without repeats"
    return show(rng, difficulty, what, f"sort -u {name}", text(sorted(set(rows))), files)


@family(SHELL, "most_frequent")
def most_frequent(rng: random.Random, difficulty: int) -> Instance:
    rows = _repeats(rng, difficulty)
    name, files = one_file(rng, text(rows))
    command = f"sort {name} | uniq -c | sort -rn | head -n 1 | awk '{{print $2}}'"
    answer = Counter(rows).most_common(1)[0][0]
    return show(rng, difficulty, f"the most frequent line of {name}", command, answer, files)
