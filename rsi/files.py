"""Files that people, or strangers, wrote: read in one way, and judged before anything is made of them.

Whatever is wrong with one is a UserError of one line that names the file and, where there is one, the line or the key.
It knows no settings, contracts or documents: these rooms say what a key may hold.
"""

import codecs
import json
import math
import os
import re
import stat
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from rsi.errors import UserError
from rsi.text import clean

MAX_BYTES = 4_000_000  # of what is read by a person too: far more than any such file has
MAX_DEPTH = 100  # of tables and lists in one another
MAX_INT = 2**63 - 1  # TOML promises 64 bits, and so do stores
_HALF = re.compile("[\\ud800-\\udfff]")  # json reads them
_MARKS = {codecs.BOM_UTF32_LE: "UTF-32", codecs.BOM_UTF16_LE: "UTF-16", codecs.BOM_UTF16_BE: "UTF-16"}
# A dotted key of so many parts takes tomllib time that is quadratic in them.
_LONG_KEY = re.compile(r"""(?m)(?:^|[\[{,])[ \t]*(?:(?:[\w-]++|"[^"\n]*"|'[^'\n]*')[ \t]*\.[ \t]*){1000}""")


def read_file(path: Path, what: str = "file", most: int = MAX_BYTES) -> bytes:
    """The bytes of a regular file, at most `most`. A device, pipe or socket is refused, not waited for."""
    try:
        _check_kind(path, path.stat(), what)
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
        try:
            _check_kind(path, os.fstat(handle), what)
            data = b"".join(_chunks(handle, most))
        finally:
            os.close(handle)
    except FileNotFoundError:
        raise UserError(f"{path}: no such {what}; check the path") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror}); check path and permissions") from None
    except ValueError as error:  # a zero byte
        raise UserError(f"{clean(str(path))}: can be no path ({error}); correct it") from None
    if len(data) > most:
        raise UserError(f"{path}: holds more than {most} bytes, too many for a {what}; shorten it")
    return data


def read_text(path: Path, what: str = "file", most: int = MAX_BYTES) -> str:
    """The text of a UTF-8 file, without its byte order mark and with line feeds alone at the ends of lines, so that
    neither counts in a digest."""
    data = read_file(path, what, most)
    for mark, encoding in _MARKS.items():
        if data.startswith(mark):
            raise UserError(f"{path}: is {encoding} text; save it as UTF-8")
    if (zero := data.find(b"\0")) >= 0:
        raise UserError(
            f"{path}: line {_line(data, zero)} holds a zero byte, which no text does; save it as UTF-8 text"
        )
    try:
        text = data.removeprefix(codecs.BOM_UTF8).decode("utf-8")
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: is not UTF-8 text (line {_line(data, error.start)}); save it as UTF-8") from None
    return text.replace("\r\n", "\n")


def load_toml(path: Path, what: str = "file") -> dict[str, Any]:
    return parse_toml(read_text(path, what), str(path))


def load_json(path: Path, what: str = "file") -> Any:
    return parse_json(read_text(path, what), str(path))


def parse_toml(text: str, where: str) -> dict[str, Any]:
    """A table whose numbers are finite and of 64 bits, and which code that goes down into it can read."""
    try:
        if _LONG_KEY.search(text):
            raise RecursionError
        table = tomllib.loads(text)
    except RecursionError:
        raise _too_deep(where, "TOML") from None
    except ValueError as error:  # malformed, or a number of more digits than Python reads
        raise UserError(f"{where}: malformed TOML: {error}") from None
    _check_values(table, where, "TOML")
    return table


def parse_json(text: str, where: str) -> Any:
    """The same of a JSON text, in which no key of an object stands twice and no string is half a character."""
    try:
        value = json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse)
    except RecursionError:
        raise _too_deep(where, "JSON") from None
    except ValueError as error:
        raise UserError(f"{where}: malformed JSON ({error})") from None
    _check_values(value, where, "JSON")
    return value


def _check_kind(path: Path, found: os.stat_result, what: str) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise UserError(f"{path}: cannot be read: it is a folder, not a {what}")
    if not stat.S_ISREG(found.st_mode):
        raise UserError(f"{path}: cannot be read: it is a device, pipe or socket, not a {what}")


def _chunks(handle: int, most: int) -> Iterator[bytes]:
    """Up to the end, or one byte more than `most`."""
    left = most + 1
    while left > 0 and (chunk := os.read(handle, min(left, 1 << 20))):
        left -= len(chunk)
        yield chunk


def _line(data: bytes, at: int) -> int:
    return data.count(b"\n", 0, at) + 1


def _check_values(whole: Any, where: str, language: str) -> None:
    """Without recursion: what is too deep is found before anything goes down into it."""
    left: list[tuple[Any, tuple[str, ...]]] = [(whole, ())]
    while left:
        value, path = left.pop()
        problem = ""
        if isinstance(value, str) and _HALF.search(value):
            problem = "holds half a character (a lone surrogate); write text"
        elif isinstance(value, float) and not math.isfinite(value):
            problem = f"{value} is not a finite number; write one"
        elif isinstance(value, int) and abs(value) > MAX_INT:
            problem = "is larger than 64 bits; write a smaller number"
        if problem:
            raise UserError(f"{where}: '{'.'.join(path)}': {problem}")
        if isinstance(value, dict | list):
            if len(path) >= MAX_DEPTH:
                raise _too_deep(where, language)
            items: Iterable[tuple[object, Any]] = value.items() if isinstance(value, dict) else enumerate(value)
            for key, item in items:
                if isinstance(key, str) and _HALF.search(key):
                    raise UserError(
                        f"{where}: a key below '{'.'.join(path)}' holds half a character (a lone surrogate)"
                    )
                left.append((item, (*path, str(key))))


def _too_deep(where: str, language: str) -> UserError:
    return UserError(f"{where}: malformed {language}: tables or lists are nested too deeply (at most {MAX_DEPTH})")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(key for at, (key, _) in enumerate(pairs) if key in dict(pairs[:at]))
        raise ValueError(f"key {twice[:60]!r} stands twice")
    return found


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON")
