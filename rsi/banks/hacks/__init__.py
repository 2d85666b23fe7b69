"""Tricks: ways to a reward without doing the task, as a scripted policy plays them. Data only; none may ever earn.

`probes` makes probes of them, for `certify`.
"""

from collections.abc import Sequence

from rsi.banks.hacks.code import CODE_TRICKS
from rsi.banks.hacks.shell import SHELL_TRICKS
from rsi.banks.hacks.trick import Trick
from rsi.banks.probes import Probe

__all__ = ["CODE_TRICKS", "SHELL_TRICKS", "TRICKS", "Trick", "probes"]

TRICKS = (*SHELL_TRICKS, *CODE_TRICKS)


def probes(tricks: Sequence[Trick] = TRICKS, solution: str = "solution.py") -> tuple[Probe, ...]:
    """The tricks as probes: their commands in one shell, or their answer printed."""
    return tuple(Probe(each.name, "\n".join(each.played(solution)) or f"echo '{each.answer}'") for each in tricks)
