"""What makes a task near a sealed one. Pure, and lexical: it sees what an agent sees, no keys.

Near means: a file with the same content, or a request that is nearly the same once its slots are masked while the slots
(literals of the request, words of the files) are nearly the same too. The same family with other content is not near.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher

from rsi.types import Task

SIMILAR = 0.8  # of slots, as multisets
SIMILAR_WORDING = 0.85  # of masked requests, word by word
_SLOT = re.compile(
    r"'[^']*'|\"[^\"]*\""  # quoted
    r"|[\w./-]*\.\w+|\d+"  # file names, numbers
    r"|(?<=[:,] )\w+|(?<=[a-z,] )[A-Z]\w*"  # members of lists, names
)
_TOKEN = re.compile(r"\w+")


def slots(request: str) -> list[str]:
    """The literals of a request: what is quoted, file names, numbers, members of lists, names."""
    return [found.strip("'\"") for found in _SLOT.findall(request)]


def masked(request: str) -> str:
    """The request with every slot replaced: what is left is its family's wording."""
    return " ".join(_SLOT.sub(" _ ", request).lower().split())


def contents(request: str, files: Mapping[str, str], setup: str = "") -> tuple[str, ...]:
    """What identifies an instance: each file's content and what is set up, or else its literals and file names."""
    return tuple(sorted(_bodies({**files, "": setup}))) or (" ".join(sorted(_tokens(request, files))),)


class SealedScan:
    """`scan(task)` says why a task is near a sealed one, without saying what that one holds, or None. Indexed once."""

    def __init__(self, sealed: Sequence[Task]) -> None:
        self._bodies = {body for task in sealed for body in _bodies({**task.files, "": task.setup})}
        families: dict[str, list[Task]] = {}
        for task in sealed:
            families.setdefault(task.recipe.family, []).append(task)
        self._known: dict[str, list[tuple[Counter[str], frozenset[str]]]] = {}
        for group in families.values():
            fixed = _fixed(group)
            for task in group:
                self._known.setdefault(masked(task.asked), []).append((_slots_of(task, fixed), fixed))

    def __call__(self, task: Task) -> str | None:
        if self._bodies & _bodies({**task.files, "": task.setup}):
            return "it shares a file's content with a sealed task"
        wording = masked(task.asked)
        for other, known in self._known.items():
            if _alike(wording, other):
                own = {fixed: _slots_of(task, fixed) for _, fixed in known}
                if any(_overlap(own[fixed], slots) >= SIMILAR for slots, fixed in known):
                    return "its wording and its slots are nearly those of a sealed task"
        return None


def _fixed(group: Sequence[Task]) -> frozenset[str]:
    """The words of every set-up in a family: they are its wording, not slots. Two tasks are too few to tell."""
    words = [set(task.setup.split()) for task in group]
    return frozenset(set.intersection(*words)) if len(words) > 2 else frozenset()


def _slots_of(task: Task, fixed: frozenset[str]) -> Counter[str]:
    made = [word for word in task.setup.split() if word not in fixed]
    return Counter([*_tokens(task.asked, task.files), *made])


def _bodies(files: Mapping[str, str]) -> set[str]:
    return {" ".join(body.split()) for body in files.values()} - {""}


def _tokens(request: str, files: Mapping[str, str]) -> list[str]:
    """Slots of the request (all its words where it has none), and the words and names of the files."""
    literals = slots(request) or _TOKEN.findall(request.lower())
    return literals + list(files) + [word for body in files.values() for word in body.split()]


def _alike(a: str, b: str) -> bool:
    if a == b:
        return True
    matcher = SequenceMatcher(None, a.split(), b.split(), autojunk=False)
    bounds = (matcher.real_quick_ratio, matcher.quick_ratio, matcher.ratio)  # each dearer and closer than the last
    return all(bound() >= SIMILAR_WORDING for bound in bounds)


def _overlap(a: Counter[str], b: Counter[str]) -> float:
    """Shared part of two multisets, 0 to 1."""
    return (a & b).total() / max(1, (a | b).total())
