"""The shapes that questions share: the answer is the reference, and the check compares it as text or as a number."""

from rsi.banks.instance import Instance, Table
from rsi.types import OutputCheck

REASON: Table = {}


def number(request: str, answer: int) -> Instance:
    return Instance(request, str(answer), (OutputCheck(expected=str(answer), mode="numeric"),))


def word(request: str, answer: str) -> Instance:
    return Instance(request, answer, (OutputCheck(expected=answer),))
