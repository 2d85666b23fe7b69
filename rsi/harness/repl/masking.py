"""NoAI fields: values that a program may use and that never stand in a text which the model sees.

What is replaced: every run of GRAM or more characters that stands in such a value, as written, reversed, in upper or
lower case, in hex or in base64; a shorter value as a whole word. Not caught: a program that prints a value a few
characters at a time, or in a code of its own. Masking stops accidents and plain copies, not a program bent on telling.
"""

import base64
import json
import re
from collections.abc import Iterator

GRAM = 6
HIDDEN = "[hidden]"


class Masked:
    """The values seen so far in one episode."""

    def __init__(self) -> None:
        self._grams: set[str] = set()
        self._words: set[str] = set()

    def learn(self, value: object, fields: tuple[str, ...]) -> None:
        """Collect what stands under a key of `fields`, at any depth of JSON data."""
        if isinstance(value, dict):
            for key, inner in value.items():
                for leaf in _leaves(inner) if key in fields else ():
                    self._hide(leaf)
                self.learn(inner, fields)
        elif isinstance(value, list):
            for inner in value:
                self.learn(inner, fields)

    def _hide(self, value: str) -> None:
        for text in _written(value):
            if len(text) < GRAM:
                self._words.add(text)
            self._grams |= {text[at : at + GRAM] for at in range(len(text) - GRAM + 1)}

    def mask(self, text: str) -> str:
        if self._grams:
            text = self._without_grams(text)
        if self._words:
            words = "|".join(re.escape(word) for word in sorted(self._words, key=len, reverse=True))
            text = re.sub(rf"(?<!\w)(?:{words})(?!\w)", HIDDEN, text)
        return text

    def _without_grams(self, text: str) -> str:
        kept, at, end = list[str](), 0, -1  # `end`: where the run that is being hidden ends
        while at < len(text):
            if text[at : at + GRAM] in self._grams:
                if at > end:
                    kept.append(HIDDEN)
                end = at + GRAM
            elif at >= end:
                kept.append(text[at])
            at += 1
        return "".join(kept)


def _leaves(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for inner in value:
            yield from _leaves(inner)
    elif value is not None and not isinstance(value, bool) and str(value):
        yield str(value)


def _written(value: str) -> set[str]:
    """The ways in which a value is commonly written."""
    data = value.encode(errors="replace")
    texts = {value, value.lower(), value.upper(), value[::-1], data.hex(), data.hex().upper()}
    texts |= {repr(value)[1:-1], json.dumps(value)[1:-1]}
    for shift in range(3):  # base64 of a text in which the value stands anywhere
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            coded = encode(b"\0" * shift + data).decode().rstrip("=")
            texts.add(coded[{0: 0, 1: 2, 2: 3}[shift] : len(coded) - (1 if (len(data) + shift) % 3 else 0)])
    return {text for text in texts if text}
