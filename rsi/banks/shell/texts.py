"""Families that show a changed text, the file itself left alone."""

import random

from rsi.banks.content import names, size, text, words
from rsi.banks.instance import Instance, family
from rsi.banks.shell.forms import SHELL, one_file, show


@family(SHELL, "upper_case")
def upper_case(rng: random.Random, difficulty: int) -> Instance:
    body = text(words(rng, size(rng, difficulty)))
    name, files = one_file(rng, body)
    return show(rng, difficulty, f"{name} in upper case", f"tr a-z A-Z < {name}", body.upper(), files)


@family(SHELL, "lower_case")
def lower_case(rng: random.Random, difficulty: int) -> Instance:
    body = text(words(rng, size(rng, difficulty))).upper()
    name, files = one_file(rng, body)
    return show(rng, difficulty, f"{name} in lower case", f"tr A-Z a-z < {name}", body.lower(), files)


@family(SHELL, "replace_word")
def replace_word(rng: random.Random, difficulty: int) -> Instance:
    old, new, *others = words(rng, 2 + size(rng, difficulty))
    rows = [*others, old, *([old] if difficulty > 1 else [])]
    rng.shuffle(rows)
    name, files = one_file(rng, text(rows))
    found = text([new if row == old else row for row in rows])
    what, command = f"{name} with '{old}' replaced by '{new}'", f"sed 's/{old}/{new}/g' {name}"
    return show(rng, difficulty, what, command, found, files)


@family(SHELL, "join_lines")
def join_lines(rng: random.Random, difficulty: int) -> Instance:
    rows = words(rng, size(rng, difficulty))
    name, files = one_file(rng, text(rows))
    what = f"the lines of {name} joined by commas"
    return show(rng, difficulty, what, f"paste -sd, {name}", ",".join(rows), files)


@family(SHELL, "first_letters")
def first_letters(rng: random.Random, difficulty: int) -> Instance:
    rows = words(rng, size(rng, difficulty))
    n = rng.randint(2, 4)
    name, files = one_file(rng, text(rows))
    what = f"the first {n} letters of each line of {name}"
    return show(rng, difficulty, what, f"cut -c1-{n} {name}", text([row[:n] for row in rows]), files)


@family(SHELL, "two_files")
def two_files(rng: random.Random, difficulty: int) -> Instance:
    first, second = names(rng, 2)
    rows = words(rng, 2 * size(rng, difficulty))
    files = {first: text(rows[::2]), second: text(rows[1::2])}
    found = files[first] + files[second]
    return show(rng, difficulty, f"{first} followed by {second}", f"cat {first} {second}", found, files)


@family(SHELL, "add_prefix")
def add_prefix(rng: random.Random, difficulty: int) -> Instance:
    mark, *rows = words(rng, 1 + size(rng, difficulty))
    name, files = one_file(rng, text(rows))
    what, command = f"{name} with '{mark}' in front of each line", f"sed 's/^/{mark}/' {name}"
    return show(rng, difficulty, what, command, text([mark + row for row in rows]), files)
