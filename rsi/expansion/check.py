"""Refuses edits that cheat: the program reads every text of an edit; nobody is asked to behave (hazard 17).

It compares with the tasks under search and with words the caller forbids (names of held-out families). It sees keys to
refuse their answers, and its reasons never quote them.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rsi.ports import TaskBank
from rsi.types import Edit, FileCheck, OpenTask, OutputCheck, ProgramCheck, TaskKey

SHORTEST = 12  # characters: shorter contents and answers ("3", "yes") stand in honest texts too
SHORTEST_REQUEST = 8


@dataclass(frozen=True)
class Literal:
    """A text that no edit may hold, with the reason to give; as a whole word where `word`."""

    text: str
    reason: str
    word: bool = False


def forbidden_literals(tasks: Sequence[OpenTask], bank: TaskBank, words: Collection[str]) -> list[Literal]:
    """What the tasks under search and the caller's `words` (names of held-out families) forbid in an edit."""
    bearers: dict[str, set[str]] = {}
    for task in (*bank.tasks("train"), *tasks):
        bearers.setdefault(_flat(task.request), set()).add(task.id)
    found = [Literal(_flat(word), "it names a held-out family", word=True) for word in words if word.strip()]
    for task in tasks:
        found.append(Literal(task.id, "it names a task under search"))
        request = _flat(task.request)
        if (
            len(request) >= SHORTEST_REQUEST and len(bearers[request]) == 1
        ):  # one that many instances share hints at none
            found.append(Literal(request, "it holds the request of a task under search"))
        for texts, what in ((task.files.values(), "a file"), (_answers(bank.key(task)), "the answer")):
            long = [flat for text in texts if len(flat := _flat(text)) >= SHORTEST]
            found += [Literal(flat, f"it holds {what} of a task under search") for flat in long]
    return found


def cheating(edit: Edit, open_families: Collection[str], literals: Sequence[Literal]) -> str:
    """Why the edit is refused; empty where it is not."""
    if closed := set(edit.families) - set(open_families):
        return f"{len(closed)} of the families it is meant for are not open"
    text = _flat("\n".join(_texts(edit.model_dump(mode="json", exclude={"families"}))))
    for literal in literals:
        pattern = rf"(?<!\w){re.escape(literal.text)}(?!\w)" if literal.word else ""
        if re.search(pattern, text) if pattern else literal.text in text:
            return literal.reason
    return ""


def _flat(text: str) -> str:
    """Case and spacing do not hide a literal."""
    return " ".join(text.lower().split())


def _answers(key: TaskKey) -> Iterator[str]:
    for check in key.every_check:
        match check:
            case OutputCheck(expected=expected) | ProgramCheck(expected=expected):
                yield expected
            case FileCheck(content=str(content)):
                yield content
            case _:
                pass


def _texts(value: Any) -> Iterator[str]:
    """Every string anywhere in plain data."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)
