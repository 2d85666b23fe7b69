"""Families that change the workspace. Difficulty 2 adds a step, 3 asks for an output besides."""

import random

from rsi.banks.content import FOLDERS, names, size, text, words
from rsi.banks.instance import Instance, family
from rsi.banks.shell.forms import SHELL, kept
from rsi.types import Check, FileCheck, OutputCheck, ProgramCheck


def _act(
    difficulty: int, request: str, command: str, checks: tuple[Check, ...], files: dict[str, str], shown: str
) -> Instance:
    """An action on `files`; at difficulty 3 the file `shown`, whose content a FileCheck states, is printed too."""
    if difficulty < 3:
        return Instance(f"{request}.", command, checks, files)
    content = next(c.content for c in checks if isinstance(c, FileCheck) and c.path == shown and c.content is not None)
    output = OutputCheck(expected=content)
    return Instance(f"{request} and print {shown}.", f"{command}; cat {shown}", (*checks, output), files)


def _is(path: str, content: str | None) -> FileCheck:
    return FileCheck(path=path, content=content)


def _count(request: str, command: str, checks: tuple[Check, ...], files: dict[str, str], path: str, n: int) -> Instance:
    """An action after which `path` has `n` lines, which are to be counted."""
    request = f"{request}, then print the number of lines in {path}."
    return Instance(request, f"{command}; wc -l < {path}", (*checks, OutputCheck(expected=str(n))), files)


@family(SHELL, "copy_file")
def copy_file(rng: random.Random, difficulty: int) -> Instance:
    old, new, third, other = names(rng, 4)
    n = size(rng, difficulty)
    files = {old: text(words(rng, n)), other: text(words(rng, 2))}
    request, command = f"Copy {old} to {new}", f"cp {old} {new}"
    checks: tuple[Check, ...] = (_is(new, files[old]), *kept(files))
    if difficulty > 1:
        request, command = f"{request} and {other} to {third}", f"{command}; cp {other} {third}"
        checks = (*checks, _is(third, files[other]))
    if difficulty > 2:
        return _count(request, command, checks, files, new, n)
    return Instance(f"{request}.", command, checks, files)


@family(SHELL, "rename_file")
def rename_file(rng: random.Random, difficulty: int) -> Instance:
    old, new, third, other = names(rng, 4)
    n = size(rng, difficulty)
    files = {old: text(words(rng, n)), other: text(words(rng, 2))}
    request, command = f"Rename {old} to {new}", f"mv {old} {new}"
    checks: tuple[Check, ...] = (_is(new, files[old]), _is(old, None))
    if difficulty == 1:
        return Instance(f"{request}.", command, (*checks, *kept(files, (old,))), files)
    request, command = f"{request} and {other} to {third}", f"{command}; mv {other} {third}"
    checks = (*checks, _is(third, files[other]), _is(other, None))
    if difficulty > 2:
        return _count(request, command, checks, files, new, n)
    return Instance(f"{request}.", command, checks, files)


@family(SHELL, "delete_file")
def delete_file(rng: random.Random, difficulty: int) -> Instance:
    paths = names(rng, 1 + size(rng, difficulty))
    files = {path: text(words(rng, 2)) for path in paths}
    gone = tuple(paths[:difficulty])
    request = f"Delete {' and '.join(gone)}."
    checks = (*(_is(path, None) for path in gone), *kept(files, gone))
    return Instance(request, f"rm {' '.join(gone)}", checks, files)


@family(SHELL, "append_line")
def append_line(rng: random.Random, difficulty: int) -> Instance:
    name = names(rng, 1)[0]
    first, second, *rows = words(rng, 2 + size(rng, difficulty))
    added = [first] if difficulty == 1 else [first, second]
    files = {name: text(rows)}
    request = f"Add the line {' and the line '.join(repr(word) for word in added)} to the end of {name}"
    command = "; ".join(f"echo '{word}' >> {name}" for word in added)
    return _act(difficulty, request, command, (_is(name, text(rows + added)),), files, name)


@family(SHELL, "write_file")
def write_file(rng: random.Random, difficulty: int) -> Instance:
    name, second = names(rng, 2)
    a, b = words(rng, 2)
    request, command = f"Write '{a}' into the new file {name}", f"echo '{a}' > {name}"
    checks: tuple[Check, ...] = (_is(name, a),)
    if difficulty > 1:
        request, command = f"{request} and '{b}' into {second}", f"{command}; echo '{b}' > {second}"
        checks = (*checks, _is(second, b))
    return _act(difficulty, request, command, checks, {}, name)


@family(SHELL, "move_to_folder")
def move_to_folder(rng: random.Random, difficulty: int) -> Instance:
    moved, second, within = names(rng, 3)
    folder, n = rng.choice(FOLDERS), size(rng, difficulty)
    files = {moved: text(words(rng, n)), second: text(words(rng, 3)), f"{folder}/{within}": text(words(rng, 2))}
    gone = (moved,) if difficulty == 1 else (moved, second)
    checks = (*(c for p in gone for c in (_is(p, None), _is(f"{folder}/{p}", files[p]))), *kept(files, gone))
    request, command = f"Move {' and '.join(gone)} into the folder {folder}", f"mv {' '.join(gone)} {folder}/"
    if difficulty > 2:
        return _count(request, command, checks, files, f"{folder}/{moved}", n)
    return Instance(f"{request}.", command, checks, files)


@family(SHELL, "change_word")
def change_word(rng: random.Random, difficulty: int) -> Instance:
    name, second = names(rng, 2)
    old, new, *others = words(rng, 2 + size(rng, difficulty))
    targets = (name,) if difficulty == 1 else (name, second)
    files, checks = {}, []
    for path in targets:
        rows = [*rng.sample(others, len(others)), old]
        rng.shuffle(rows)
        files[path] = text(rows)
        checks.append(_is(path, text([new if row == old else row for row in rows])))
    request = f"In {' and '.join(targets)}, change '{old}' to '{new}'"
    command = f"sed -i 's/{old}/{new}/g' {' '.join(targets)}"
    return _act(difficulty, request, command, tuple(checks), files, name)


@family(SHELL, "remove_lines")
def remove_lines(rng: random.Random, difficulty: int) -> Instance:
    name = names(rng, 1)[0]
    word, *others = words(rng, 1 + size(rng, difficulty))
    rows = [f"{word} {others[0]}", *others, *([f"{others[1]} {word}"] if difficulty > 1 else [])]
    rng.shuffle(rows)
    checks = (_is(name, text([row for row in rows if word not in row])),)
    request = f"Remove the lines with '{word}' from {name}"
    return _act(difficulty, request, f"sed -i '/{word}/d' {name}", checks, {name: text(rows)}, name)


@family(SHELL, "write_script")
def write_script(rng: random.Random, difficulty: int) -> Instance:
    name = names(rng, 1, ".sh")[0]
    said = words(rng, difficulty)
    request = f"Write the script {name} that prints {' and then '.join(repr(word) for word in said)}."
    body = "; ".join(f"echo {word}" for word in said)
    check = ProgramCheck(command=f"bash {name}", expected=text(said))
    return Instance(request, f"echo '{body}' > {name}", (check,))
