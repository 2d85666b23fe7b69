"""What a generator makes, and the tables in which generators register. A generator is a pure function of its random
source and a difficulty (1 simplest, 3 hardest); it computes what is expected in Python, never by running its reference,
so that a certificate compares two derivations."""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from rsi.types import Check, FileCheck, OutputCheck


@dataclass(frozen=True)
class Instance:
    request: str
    reference: str  # a shell command, or the answer itself
    checks: tuple[Check, ...]
    files: Mapping[str, str] = field(default_factory=dict)
    setup: str = ""  # see Task.setup; its text counts as content
    user_turns: tuple[str, ...] = ()  # of a conversation; they count as content
    turn_checks: tuple[tuple[Check, ...], ...] = ()  # one set a user message, the request's first; `checks` is empty
    pass_share: float = 1.0
    problem: str = ""  # why it is no task, where people wrote nonsense

    @property
    def asked(self) -> str:
        """See Task.asked."""
        return "\n".join((self.request, *self.user_turns))

    @property
    def every_check(self) -> tuple[Check, ...]:
        return (*self.checks, *(check for turn in self.turn_checks for check in turn))


Generator = Callable[[random.Random, int], Instance]
Table = dict[str, Generator]


def family(table: Table, name: str) -> Callable[[Generator], Generator]:
    """Register a generator under its family's name. Raises ValueError for a name taken twice."""

    def register(generator: Generator) -> Generator:
        if name in table:
            raise ValueError(f"family {name} is registered twice")
        table[name] = generator
        return generator

    return register


def trivial(instance: Instance) -> bool:
    """Whether idleness could pass: nothing is expected, an output that just shows a file, or files left as they are."""
    if instance.problem:
        return False  # it is to be seen
    shown = {text.strip() for text in instance.files.values()} | {""}
    outputs = [check for check in instance.every_check if isinstance(check, OutputCheck)]
    if any(check.expected.strip() in shown for check in outputs):
        return True
    changes = [c for c in instance.every_check if not as_it_was(c, instance)]
    return not changes


def as_it_was(check: Check, instance: Instance) -> bool:
    """Whether the check holds of the files as they are given (what `setup` makes of them is not known here)."""
    same = isinstance(check, FileCheck) and instance.files.get(check.path) == check.content
    return same and not instance.setup and (not isinstance(check, FileCheck) or check.mode in (None, 0o644))
