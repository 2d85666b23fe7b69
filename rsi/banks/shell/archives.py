"""Families about archives and compression."""

import random
from dataclasses import replace

from rsi.banks.content import FOLDERS, names, size, text, words
from rsi.banks.instance import Instance, family
from rsi.banks.shell.forms import SHELL, quoted, show
from rsi.types import FileCheck, ProgramCheck


def _packed(rng: random.Random, difficulty: int, n: int) -> tuple[str, dict[str, str], str]:
    """An archive's name, what it holds, and the set-up that makes it (the members are gone afterwards)."""
    archive = rng.choice(("pack", "bundle", "parts", "saved")) + rng.choice((".tar", ".tar.gz"))
    held = {name: text(words(rng, size(rng, difficulty))) for name in names(rng, n)}
    write = "; ".join(f"printf %s {quoted(body)} > {name}" for name, body in held.items())
    return archive, held, f"{write}; tar -caf {archive} {' '.join(held)}; rm {' '.join(held)}"


@family(SHELL, "unpack_archive")
def unpack_archive(rng: random.Random, difficulty: int) -> Instance:
    archive, held, setup = _packed(rng, difficulty, 2)
    folder = rng.choice(FOLDERS)
    if difficulty < 3:
        checks = tuple(FileCheck(path=name, content=body) for name, body in held.items())
        return Instance(f"Unpack {archive} here.", f"tar -xf {archive}", checks, {}, setup)
    checks = tuple(FileCheck(path=f"{folder}/{name}", content=body) for name, body in held.items())
    request, command = (
        f"Unpack {archive} into the new folder {folder}",
        f"mkdir {folder}; tar -xf {archive} -C {folder}",
    )
    if difficulty > 3:
        request, command = f"{request} and delete {archive}", f"{command}; rm {archive}"
        checks = (*checks, FileCheck(path=archive, content=None))
    return Instance(f"{request}.", command, checks, {}, setup)


@family(SHELL, "list_archive")
def list_archive(rng: random.Random, difficulty: int) -> Instance:
    archive, held, setup = _packed(rng, difficulty, 3)
    what, command = f"the names of the files in {archive} in sorted order", f"tar -tf {archive} | sort"
    return replace(show(rng, difficulty - 1, what, command, text(sorted(held)), {}), setup=setup)


@family(SHELL, "one_from_archive")
def one_from_archive(rng: random.Random, difficulty: int) -> Instance:
    archive, held, setup = _packed(rng, difficulty, 3)
    name = rng.choice(list(held))
    what, command = f"the file {name} that is inside {archive}", f"tar -xOf {archive} {name}"
    return replace(show(rng, difficulty - 1, what, command, held[name], {}), setup=setup)


@family(SHELL, "pack_files")
def pack_files(rng: random.Random, difficulty: int) -> Instance:
    first, second, other = names(rng, 3)
    files = {name: text(words(rng, size(rng, difficulty))) for name in (first, second)}
    files[other] = text(words(rng, 2))
    archive = rng.choice(("pack", "bundle", "parts")) + ".tar.gz"
    request, command = f"Pack {first} and {second} into {archive}", f"tar -czf {archive} {first} {second}"
    inside = text(sorted((first, second)))
    checks = (
        ProgramCheck(command=f"tar -tzf {archive} | sed 's,^./,,' | sort", expected=inside),
        ProgramCheck(
            command=f"mkdir /tmp/x && tar -xzf {archive} -C /tmp/x && cat /tmp/x/{second}", expected=files[second]
        ),
        FileCheck(path=first, content=None if difficulty > 2 else files[first]),
        FileCheck(path=other, content=files[other]),
    )
    if difficulty > 2:
        request, command = f"{request}, then delete both files", f"{command}; rm {first} {second}"
    return Instance(f"{request}.", command, checks, files)


@family(SHELL, "unzip_gzip")
def unzip_gzip(rng: random.Random, difficulty: int) -> Instance:
    name = names(rng, 1)[0]
    body = text(words(rng, size(rng, difficulty)))
    setup = f"printf %s {quoted(body)} | gzip -n > {name}.gz"
    what = f"the text that is compressed in {name}.gz"
    return replace(show(rng, difficulty - 1, what, f"gzip -dc {name}.gz", body, {}), setup=setup)
