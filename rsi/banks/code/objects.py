"""What the families of small classes share. A hidden call makes an object, calls its methods and shows what each
returned."""

import random
from collections.abc import Callable, Sequence
from typing import Any

from rsi.banks.code.forms import Raised

Step = tuple[str, tuple[Any, ...]]  # a method and its arguments
Play = Callable[[Sequence[Step]], Any]


def stub(rule: str, methods: dict[str, str]) -> str:
    """A class without methods whose docstring states them."""
    said = [f"    {name}: {what}" for name, what in methods.items()]
    return "\n".join(["class NAME:", f'    """{rule}', "", *said, '    """'])


def written(source: str) -> str:
    return "class NAME:\n" + "\n".join("    " + line for line in source.strip("\n").split("\n"))


def played(rng: random.Random, draw: Callable[[], Step], play: Play, always: Sequence[list[Step]] = ()) -> list[Any]:
    """Calls with their values: what each step returns, in order. `play` raises where a step does."""
    runs = [*always, *([draw() for _ in range(n)] for n in (2, 3, 4, 5, 6, 8, 10, 12))]
    calls: list[Any] = []
    for steps in runs:
        shown = ", ".join(f"s.{name}({', '.join(map(repr, args))})" for name, args in steps)
        try:
            value = play(steps)
        except (ValueError, LookupError) as problem:
            value = Raised(type(problem).__name__)
        calls.append((f"(lambda s: [{shown}])(NAME())", value))
    return calls
