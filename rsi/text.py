"""Text from outside (models, servers, tools, hooks, banks, files), made fit to be stored and shown where it comes in.

Every room calls this at its own boundary, so that nothing behind a boundary meets a lone surrogate, a NUL, a byte order
mark, or JSON that breaks a parser. Pure.
"""

import codecs
import json
import re
import unicodedata
from typing import Any

REPLACEMENT = "�"
HIDDEN = "***"  # in the place of a secret
MAX_DEPTH = 100  # of nested JSON: far more than anything that is read here has
MAX_DIGITS = 1000  # of an integer in JSON


def clean(text: str) -> str:
    """`text` without what cannot be stored: halves of a surrogate pair are joined, lone ones and NUL become U+FFFD."""
    if not text.isascii():
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text.replace("\0", REPLACEMENT)


def decode(data: bytes) -> str:
    """UTF-8 without its byte order mark; what is no UTF-8 becomes U+FFFD."""
    return clean(data.removeprefix(codecs.BOM_UTF8).decode("utf-8", "replace"))


def unix_lines(text: str) -> str:
    """Line ends CR LF and CR as LF: for commands, code, and text whose digest counts."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def parse_json(text: str | bytes) -> Any:
    """A JSON value whose strings are clean. ValueError, always in these words, where it is malformed, is nested deeper
    than MAX_DEPTH, or holds an integer of more than MAX_DIGITS digits. NaN and the infinities are parsed as floats."""
    if isinstance(text, bytes):
        text = decode(text)
    try:
        value = json.loads(text.removeprefix("\ufeff"), parse_int=_parse_int)
    except RecursionError:
        raise ValueError(f"JSON nested deeper than {MAX_DEPTH}") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"malformed JSON: {error.msg} (line {error.lineno}, column {error.colno})") from None
    return _clean_value(value, MAX_DEPTH)


def escape(text: str) -> str:
    """`text` as one may print it: control and format characters (ESC, bidirectional overrides, zero widths) are shown
    as escapes such as \\x1b; line feeds and tabs stay."""
    return "".join(c if c in "\n\t" or not _unseen(c) else _escaped(c) for c in text)


def escape_line(text: str, most: int = 300) -> str:
    """`text` as one line that one may print, cut to `most` characters."""
    return escape(" ".join(text.split()))[:most]


def show_url(text: str) -> str:
    """A model's id as it may be shown and recorded: without user, password and query where it is a URL."""
    if not text.lower().startswith(("http:", "https:")):
        return escape(text)
    hidden = re.sub(r"(?<=//)[^/?#]*@", f"{HIDDEN}@", text)
    return escape(re.sub(r"\?[^#]*", "", hidden))


def _unseen(c: str) -> bool:
    return unicodedata.category(c) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


def _escaped(c: str) -> str:
    return c.encode("unicode_escape").decode("ascii")


def _parse_int(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise ValueError(f"JSON with an integer of {len(digits)} digits (at most {MAX_DIGITS})")
    return int(digits)


def _clean_value(value: Any, depth: int) -> Any:
    if isinstance(value, str):
        return clean(value)
    if not isinstance(value, dict | list):
        return value
    if depth == 0:
        raise ValueError(f"JSON nested deeper than {MAX_DEPTH}")
    if isinstance(value, dict):
        return {clean(key): _clean_value(item, depth - 1) for key, item in value.items()}
    return [_clean_value(item, depth - 1) for item in value]
