"""Families that count: lines, words, characters, matches, files."""

import random

from rsi.banks.content import count, names, size, text, words
from rsi.banks.instance import Instance, family
from rsi.banks.shell.forms import SHELL, one_file, show

ENDINGS = ("log", "csv", "md", "py", "html", "json")


@family(SHELL, "count_lines")
def count_lines(rng: random.Random, difficulty: int) -> Instance:
    chosen = words(rng, count(rng, difficulty))
    name, files = one_file(rng, text(chosen))
    return show(rng, difficulty, f"the number of lines in {name}", f"wc -l < {name}", str(len(chosen)), files)


@family(SHELL, "count_words")
def count_words(rng: random.Random, difficulty: int) -> Instance:
    rows = [words(rng, rng.randint(1, 3)) for _ in range(count(rng, difficulty))]
    name, files = one_file(rng, text([" ".join(row) for row in rows]))
    total = sum(map(len, rows))
    return show(rng, difficulty, f"the number of words in {name}", f"wc -w < {name}", str(total), files)


@family(SHELL, "file_size")
def file_size(rng: random.Random, difficulty: int) -> Instance:
    body = text(words(rng, size(rng, difficulty)))
    name, files = one_file(rng, body)
    return show(rng, difficulty, f"the size of {name} in bytes", f"wc -c < {name}", str(len(body)), files)


@family(SHELL, "count_matches")
def count_matches(rng: random.Random, difficulty: int) -> Instance:
    found = count(rng, difficulty)
    word, *others = words(rng, 2 + found + rng.randint(0, 10 - found) if found < 10 else 2 + found)
    rows = [f"{word} {other}" if n < found else other for n, other in enumerate(others)]
    rng.shuffle(rows)
    name, files = one_file(rng, text(rows))
    what = f"the number of lines with '{word}' in {name}"
    return show(rng, difficulty, what, f"grep -c '{word}' {name}", str(found), files)


@family(SHELL, "count_files")
def count_files(rng: random.Random, difficulty: int) -> Instance:
    ending, other = rng.sample(ENDINGS, 2)
    wanted = names(rng, count(rng, difficulty), f".{ending}")
    files = dict.fromkeys(wanted + names(rng, rng.randint(1, 3), f".{other}"), "")
    what = f"the number of .{ending} files"
    return show(rng, difficulty, what, f"ls *.{ending} | wc -l", str(len(wanted)), files)


@family(SHELL, "find_files")
def find_files(rng: random.Random, difficulty: int) -> Instance:
    ending, other = rng.sample(ENDINGS, 2)
    wanted = sorted(names(rng, size(rng, difficulty) - 1, f".{ending}"))
    files = dict.fromkeys(wanted + names(rng, rng.randint(1, 3), f".{other}"), "")
    return show(rng, difficulty, f"the names of the .{ending} files", f"ls *.{ending}", text(wanted), files)


@family(SHELL, "largest_file")
def largest_file(rng: random.Random, difficulty: int) -> Instance:
    ending, other = rng.sample(ENDINGS, 2)
    wanted = names(rng, size(rng, difficulty) - 1, f".{ending}")
    sizes = rng.sample(range(1, 8), len(wanted))
    files = {path: text(words(rng, n)) for path, n in zip(wanted, sizes, strict=True)}
    files |= {path: text(words(rng, 9)) for path in names(rng, 1, f".{other}")}
    what, command = f"the name of the largest .{ending} file", f"ls -S *.{ending} | head -n 1"
    return show(rng, difficulty, what, command, _largest({path: files[path] for path in wanted}), files)


def _largest(files: dict[str, str]) -> str:
    """The one name, or nothing where two files share the greatest size (such an instance is dropped as trivial)."""
    most = max(map(len, files.values()))
    found = [path for path, body in files.items() if len(body) == most]
    return found[0] if len(found) == 1 else ""
