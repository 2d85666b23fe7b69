"""Prompt templates: a request `/name arguments` stands for a longer text."""

import re
from collections.abc import Sequence

from rsi.types import Prompt

_CALL = re.compile(r"/([\w.-]+)(?:\s+(.*))?", re.DOTALL)
_PLACE = re.compile(r"\$(?:(\d)|@|ARGUMENTS\b)")


def expand(request: str, prompts: Sequence[Prompt]) -> str:
    """The request, or the text of the template that it calls: `$1`... are its words, `$@` and `$ARGUMENTS` all of
    them; what is not given is empty."""
    called = _CALL.fullmatch(request.strip())
    prompt = next((p for p in prompts if called and p.name == called[1]), None)
    if called is None or prompt is None:
        return request
    given = (called[2] or "").strip()
    words = given.split()

    def put(place: re.Match[str]) -> str:
        if place[1] is None:
            return given
        number = int(place[1])
        return words[number - 1] if 0 < number <= len(words) else ""

    return _PLACE.sub(put, prompt.text)
