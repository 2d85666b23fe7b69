"""Pure comparisons of hostile text with what a key expects. Every input is bounded before it is parsed."""

import re
from collections import Counter
from fractions import Fraction

_NUMBER = re.compile(r"[+-]?[0-9]{1,40}(\.[0-9]{1,40})?([eE][+-]?[0-9]{1,2})?|[+-]?[0-9]{1,40}/[0-9]{1,40}")


def normal(text: str) -> str:
    """Trailing space of lines, and empty lines at both ends, do not count."""
    return "\n".join(line.rstrip() for line in text.split("\n")).strip("\n")


def number(text: str) -> Fraction | None:
    """The exact value of a decimal, scientific or a/b number; None for anything else and for absurdly long ones."""
    text = text.strip()
    if not _NUMBER.fullmatch(text):
        return None
    try:
        return Fraction(text)
    except ZeroDivisionError:
        return None


def same(output: str, expected: str, mode: str) -> bool:
    """Whether `output` is `expected`: `exact` text, `numeric` value, or the same multiset of `lines`."""
    if mode == "numeric":
        value = number(output)
        return value is not None and value == number(expected)
    if mode == "lines":
        return Counter(normal(output).split("\n")) == Counter(normal(expected).split("\n"))
    return normal(output) == normal(expected)
