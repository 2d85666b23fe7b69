"""What commands print goes through here: text that others wrote is escaped, whichever command shows it."""

import json
import sys
from typing import Any, TextIO

from rsi.text import escape


def say(text: object) -> None:
    """A text on stdout; its line feeds and tabs stay."""
    print(escape(str(text)))


def say_line(text: object) -> None:
    """One line on stdout, whatever the names in it hold."""
    print(_line(str(text)))


def say_json(value: Any, indent: int | None = None, sort_keys: bool = False) -> None:
    """One JSON value in ASCII on stdout: what would need escaping is escaped as JSON does it. Records are
    written as they dump; what JSON has no word for as its text."""
    print(json.dumps(value, indent=indent, sort_keys=sort_keys, default=_plain))


def tell(line: str) -> None:
    """One line on stderr."""
    print(_line(line), file=sys.stderr)


def _line(text: str) -> str:
    return escape(text).replace("\n", "\\n")


def _plain(value: Any) -> Any:
    return value.model_dump(mode="json") if hasattr(value, "model_dump") else str(value)


class Escaping:
    """A stream that escapes what is written on it, by whomever."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError("text is written here")  # so that nobody takes it for a stream of bytes
        self._stream.write(escape(text))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
