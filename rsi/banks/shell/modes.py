"""Families about permissions."""

import random
from dataclasses import replace

from rsi.banks.content import FOLDERS, names, text, words
from rsi.banks.instance import Instance, family
from rsi.banks.shell.forms import SHELL, show
from rsi.types import FileCheck, OutputCheck

_MODES = {0o600: "only its owner may read and write it", 0o640: "its owner may read and write it and its group read it"}


def _scripts(rng: random.Random, n: int) -> dict[str, str]:
    return {name: f"echo {word}\n" for name, word in zip(names(rng, n, ".sh"), words(rng, n), strict=True)}


@family(SHELL, "make_executable")
def make_executable(rng: random.Random, difficulty: int) -> Instance:
    files = _scripts(rng, 2 if difficulty < 3 else 3)
    chosen, *left = files
    request, command = f"Make {chosen} executable for its owner", f"chmod u+x {chosen}"
    checks = [FileCheck(path=chosen, content=files[chosen], mode=0o744)]
    checks += [FileCheck(path=name, content=files[name], mode=0o644) for name in left]
    if difficulty < 3:
        return Instance(f"{request}.", command, tuple(checks), files)
    said = files[chosen].split()[1]
    request, command = f"{request}, then run it as ./{chosen}", f"{command}; ./{chosen}"
    shebang = {**files, chosen: f"#!/bin/bash\n{files[chosen]}"}
    checks[0] = FileCheck(path=chosen, content=shebang[chosen], mode=0o744)
    return Instance(f"{request}.", command, (*checks, OutputCheck(expected=said)), shebang)


@family(SHELL, "set_mode")
def set_mode(rng: random.Random, difficulty: int) -> Instance:
    chosen, other = names(rng, 2)
    files = {chosen: text(words(rng, 3)), other: text(words(rng, 2))}
    mode, meaning = rng.choice(list(_MODES.items()))
    checks = [FileCheck(path=chosen, content=files[chosen], mode=mode)]
    if difficulty < 3:
        checks.append(FileCheck(path=other, content=files[other], mode=0o644))
        return Instance(
            f"Set the permissions of {chosen} to {mode:o}.", f"chmod {mode:o} {chosen}", tuple(checks), files
        )
    request, command = f"Let {chosen} be such that {meaning}, nobody else", f"chmod {mode:o} {chosen}"
    if difficulty > 3:
        request, command = (
            f"{request}, and {other} such that everybody may only read it",
            f"{command}; chmod 444 {other}",
        )
        checks.append(FileCheck(path=other, content=files[other], mode=0o444))
    return Instance(f"{request}.", command, tuple(checks), files)


@family(SHELL, "list_executables")
def list_executables(rng: random.Random, difficulty: int) -> Instance:
    files = _scripts(rng, 3 + difficulty)
    chosen = sorted(rng.sample(list(files), 2))
    what = "the names of the executable files in sorted order"
    command = "find . -type f -perm -u+x -printf '%f\\n' | sort"
    return replace(show(rng, difficulty - 1, what, command, text(chosen), files), setup=f"chmod 755 {' '.join(chosen)}")


@family(SHELL, "make_private")
def make_private(rng: random.Random, difficulty: int) -> Instance:
    folder, paths = rng.choice(FOLDERS), names(rng, 1 + difficulty)
    files = {f"{folder}/{name}": text(words(rng, 2)) for name in paths[:-1]}
    outside = {paths[-1]: text(words(rng, 2))}
    checks = tuple(FileCheck(path=path, content=body, mode=0o600) for path, body in files.items())
    kept = tuple(FileCheck(path=path, content=body, mode=0o644) for path, body in outside.items())
    request = f"Let only their owner read and write the files in {folder}."
    return Instance(request, f"chmod 600 {folder}/*", (*checks, *kept), {**files, **outside})
