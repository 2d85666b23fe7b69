"""Whether what was told says a secret, plain or in another writing. Pure; docs/components.md lists what is recognised.

What was told is put together from its pieces and read in every way of READINGS, ways inside ways up to DEPTH. Both
sides are compared by their letters and digits alone. A hash, a cipher, or a number worked out from a secret is not
recognised.
"""

import base64
import html
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from urllib.parse import unquote_to_bytes

DEPTH = 3  # writings inside one another
LIMIT = 4_000_000  # characters that are read in all ways; more is not looked through, and counts as told
SHORT = 6  # letters and digits; what is shorter would be put together by chance, and must stand by itself
PART = 8  # letters and digits in a row that give a longer secret away
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_JOINTS = re.compile(r"[\s,.:;_|/\\-]+")
_NUMBER = re.compile(r"(0[xX])?([0-9a-fA-F]+)")
_ESCAPE = re.compile(r"\\u\{?([0-9a-fA-F]{1,6})\}?|\\x([0-9a-fA-F]{2})")
_LEGIBLE = re.compile(r"[^\x00-\x1f\x7f-\x9f�]{3,}")
Field = tuple[str | None, ...]  # names that lead to a value; None at the end for the names there


def is_told(secret: str, messages: Sequence[object]) -> bool:
    """Whether `messages`, plain values in the order in which they were told, say `secret` or a PART of it."""
    told = [piece for message in messages for piece in _pieces(message, ())]
    values = [text for _, text in told]
    if len(reduce(secret)) < SHORT:
        alone = re.compile(rf"(?<![^\W_]){re.escape(secret.casefold())}(?![^\W_])")
        return any(read is None or alone.search(read.casefold()) for read in _readings(values))
    forms = [*dict.fromkeys(_forms(secret))]
    steps = _steps(secret) if len(secret) >= PART else ""
    if _numbers(secret) & {reduce(value) for value in values}:
        return True
    joined = [*dict.fromkeys(_joined(messages, told))]
    for read in _readings([*values, *joined, *(part for text in joined for part in _strides(text))]):
        plain = reduce(read or "")
        if read is None or any(form in plain for form in forms) or (steps and steps in _steps(read)):
            return True
    return False


def reduce(text: str) -> str:
    """Letters and digits alone, without case, accents and widths."""
    return "".join(c for c in unicodedata.normalize("NFKD", text).casefold() if c.isalnum())


def _forms(secret: str) -> Iterator[str]:
    """What a reduced text is searched for: the secret and its parts, forwards and backwards. Of a secret with digits,
    a part is mostly digits: a word and a small number come together by chance."""
    core = reduce(secret)
    parts = [core[at : at + PART] for at in range(len(core) - PART + 1)]
    for part in (core, *(part for part in parts if core.isalpha() or sum(map(str.isdigit, part)) > PART // 2)):
        yield from (part, part[::-1])


def _numbers(secret: str) -> set[str]:
    """The digits of a secret as one number, where they are many, in several bases."""
    digits = "".join(c for c in secret if c in _DIGITS[:10])[:100]
    return {_in_base(int(digits), base) for base in (2, 8, 10, 16, 36)} if len(digits) >= SHORT else set()


def _in_base(number: int, base: int) -> str:
    return (_in_base(number // base, base) if number >= base else "") + _DIGITS[number % base]


def _steps(text: str) -> str:
    """The differences between neighbours: they stay where every character is moved by one same amount."""
    return "".join(chr((ord(b) - ord(a)) % 0x110000) for a, b in pairwise(text))


def _readings(texts: Sequence[str]) -> Iterator[str | None]:
    """`texts`, and all that can be read out of them; None at the end where that is more than LIMIT."""
    budget, known = LIMIT, set[str]()
    for _ in range(DEPTH + 1):
        fresh = [text for text in dict.fromkeys(texts) if text not in known]
        known.update(fresh)
        budget -= sum(map(len, fresh))
        if budget < 0:
            yield None
            return
        yield from fresh
        texts = [read for text in fresh for way in READINGS for read in way(text) if read]


def _of_escapes(text: str) -> Iterator[str]:
    if "&" in text:
        yield html.unescape(text)
    if "%" in text or "=" in text:
        yield unquote_to_bytes(text).decode("utf-8", "replace")
        yield unquote_to_bytes(text.replace("=", "%")).decode("utf-8", "replace")  # quoted-printable
    if "\\" in text:
        yield _ESCAPE.sub(lambda found: _character(int(found[1] or found[2], 16)), text)


def _of_base64(text: str) -> Iterator[str]:
    for run in re.findall(r"[A-Za-z0-9+/_-]{8,}", text):
        digits = run.translate(str.maketrans("-_", "+/"))
        for at in range(4):
            end = at + (len(digits) - at) // 4 * 4
            yield _legible(base64.b64decode(digits[at:end]))
            if (rest := digits[end:]) and len(rest) > 1:
                yield _legible(base64.b64decode(digits[at:end] + rest + "=" * (4 - len(rest))))


def _of_base32(text: str) -> Iterator[str]:
    for run in re.findall(r"[A-Za-z2-7]{10,}", text):
        for at in range(8):
            rest = run[at:].upper()
            yield _legible(base64.b32decode(rest[: len(rest) // 8 * 8]) if len(rest) >= 8 else b"")


def _of_digits(text: str) -> Iterator[str]:
    """Codes of characters in a row without anything between: hexadecimal, binary, decimal."""
    bare = _JOINTS.sub("", text)
    for run in re.findall(r"[0-9a-fA-F]{12,}", bare):
        for at in (0, 1):
            yield _legible(bytes.fromhex(run[at : at + (len(run) - at) // 2 * 2]))
    for run in re.findall(r"[01]{40,}", bare):
        for size in (7, 8):
            for at in range(size):
                yield _legible(bytes(int(run[n : n + size], 2) for n in range(at, len(run) - size + 1, size)))
    for run in re.findall(r"[0-9]{12,}", bare):
        for at in range(3):
            yield "".join(_character(int(code)) for code in re.findall(r"[0-2]\d\d|[3-9]\d", run[at:]))


def _of_numbers(text: str) -> Iterator[str]:
    """Codes of characters one by one: decimal, hexadecimal, octal, binary."""
    found = _NUMBER.findall(text)
    if len(found) < SHORT:
        return
    for base, allowed in ((10, "[0-9]{1,7}"), (16, "[0-9a-fA-F]{1,6}"), (8, "[0-7]{1,7}"), (2, "[01]{1,21}")):
        fitting = [digits for _, digits in found if re.fullmatch(allowed, digits)]
        yield "".join(_character(int(digits, base)) for digits in fitting)


def _strides(text: str) -> Iterator[str]:
    """Backwards; and every second or third character, where something stands between."""
    yield text[::-1]
    yield from (text[at::size] for size in (2, 3) for at in range(size))


READINGS: tuple[Callable[[str], Iterator[str]], ...] = (
    _of_escapes,
    _of_base64,
    _of_base32,
    _of_digits,
    _of_numbers,
)


def _legible(data: bytes) -> str:
    return "\n".join(_LEGIBLE.findall(data.replace(b"\0", b"").decode("utf-8", "replace")))


def _character(code: int) -> str:
    return chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else ""


def _joined(messages: Sequence[object], told: Sequence[tuple[Field, str]]) -> Iterator[str]:
    """What was told in pieces: all values in order, those of each field alone, the names, and each of these in the
    order that a field of numbers gives the messages."""
    fields = [*dict.fromkeys(field for field, _ in told)]
    streams = [[text for field, text in told if None not in field], [text for _, text in told]]
    streams += [[text for at, text in told if at == field] for field in fields]
    if len(messages) > 1 and len(fields) <= 20:
        for key in fields:
            ordered = _ordered(messages, key)
            streams += [[text for at, text in ordered if at == field] for field in fields if ordered and field != key]
    for texts in streams:
        yield from ("".join(texts), ",".join(texts), "".join(reversed(texts)))


def _ordered(messages: Sequence[object], key: Field) -> list[tuple[Field, str]]:
    """The pieces of the messages, by the number in field `key` where each has one."""
    pieces = [[*_pieces(message, ())] for message in messages]
    pieces = [each for each in pieces if any(field == key for field, _ in each)]
    try:
        pieces.sort(key=lambda each: float(next(text for field, text in each if field == key)))
    except ValueError:
        return []
    return [piece for each in pieces for piece in each]


def _pieces(value: object, field: Field) -> Iterator[tuple[Field, str]]:
    """Each plain value with the names that lead to it, and each name itself; places in a list are no names."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield ((*field, None), name)
            yield from _pieces(inner, (*field, name))
    elif isinstance(value, list):
        for inner in value:
            yield from _pieces(inner, field)
    else:
        yield (field, str(int(value)) if isinstance(value, bool) else str(value))
