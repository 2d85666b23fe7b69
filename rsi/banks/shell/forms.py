"""The shapes that shell tasks share. Difficulty 1 prints, 2 saves into a file, 3 saves and prints."""

import random
import shlex
from collections.abc import Mapping

from rsi.banks.content import STEMS
from rsi.banks.instance import Instance, Table
from rsi.types import Check, FileCheck, OutputCheck

SHELL: Table = {}
OUTPUTS = ("out", "result", "answer", "final")


def show(
    rng: random.Random, difficulty: int, what: str, command: str, expected: str, files: Mapping[str, str]
) -> Instance:
    """An instance that asks for `what`; `command` prints it and `expected` is what it prints."""
    output = OutputCheck(expected=expected)
    if difficulty == 1:
        return Instance(f"Print {what}.", command, (output,), files)
    target = rng.choice(OUTPUTS) + ".txt"
    saved = FileCheck(path=target, content=expected)
    if difficulty == 2:
        return Instance(f"Save {what} to {target}.", f"{command} > {target}", (saved, *kept(files)), files)
    reference = f"{command} > {target}; cat {target}"
    return Instance(f"Save {what} to {target} and print it.", reference, (saved, output, *kept(files)), files)


def kept(files: Mapping[str, str], but: tuple[str, ...] = ()) -> tuple[Check, ...]:
    """Checks that the files, save those in `but`, are as they were."""
    return tuple(FileCheck(path=path, content=text) for path, text in files.items() if path not in but)


def quoted(body: str) -> str:
    """A text as one word of the shell."""
    return shlex.quote(body)


def one_file(rng: random.Random, body: str, suffix: str = ".txt") -> tuple[str, dict[str, str]]:
    """A file name and the workspace that holds `body` under it."""
    name = rng.choice(STEMS) + suffix
    return name, {name: body}
