"""A secret is recognised in other writings, and what says none is left alone."""

import base64
import html
import json
from collections.abc import Callable
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rsi.verify.ui.disguise import is_told

SECRET = "tea-4417-9052"
WRITINGS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "without dashes": lambda s: s.replace("-", ""),
    "other dashes": lambda s: s.replace("-", " — "),
    "percent": quote,
    "percent, all": lambda s: "".join(f"%{ord(c):02X}" for c in s),
    "percent, dashes only": lambda s: s.replace("-", "%2D"),
    "base64": lambda s: base64.b64encode(s.encode()).decode(),
    "base64 without padding": lambda s: base64.urlsafe_b64encode(s.encode()).decode().rstrip("="),
    "base64 of UTF-16": lambda s: base64.b64encode(s.encode("utf-16")).decode(),
    "base32": lambda s: base64.b32encode(s.encode()).decode(),
    "hexadecimal": lambda s: s.encode().hex(),
    "hexadecimal, upper": lambda s: s.upper().encode().hex(":").upper(),
    "0x": lambda s: " ".join(hex(ord(c)) for c in s),
    "reversed": lambda s: s[::-1],
    "upper": str.upper,
    "zero widths": "\u200b".join,
    "soft hyphens": "\u00ad".join,
    "spaced": " ".join,
    "one a line": "\n".join,
    "html, decimal": lambda s: "".join(f"&#{ord(c)};" for c in s),
    "html, hexadecimal": lambda s: "".join(f"&#x{ord(c):x};" for c in s),
    "html": lambda s: html.escape(s).replace("-", "&#45;"),
    "JSON escapes": lambda s: "".join(f"\\u{ord(c):04x}" for c in s),
    "hex escapes": lambda s: "".join(f"\\x{ord(c):02x}" for c in s),
    "JSON twice": lambda s: json.dumps(json.dumps({"a": s})),
    "codes": lambda s: ",".join(str(ord(c)) for c in s),
    "codes, octal": lambda s: " ".join(f"{ord(c):o}" for c in s),
    "codes, binary": lambda s: " ".join(f"{ord(c):08b}" for c in s),
    "codes without joints": lambda s: "".join(f"{ord(c):03}" for c in s),
    "codes of two and three": lambda s: "".join(str(ord(c)) for c in s),
    "bits": lambda s: "".join(f"{ord(c):08b}" for c in s),
    "full width": lambda s: "".join(chr(ord(c) + 0xFEE0) for c in s),
    "accents": lambda s: "".join(c + "\u0301" for c in s),
    "Caesar": lambda s: "".join(chr(ord(c) + 5) for c in s),
    "every second": lambda s: "".join(c + "x" for c in s),
    "digits alone": lambda s: "".join(filter(str.isdigit, s)),
    "as one number": lambda s: str(int("".join(filter(str.isdigit, s)))),
    "in base 36": lambda s: "qawrw",
    "quoted-printable": lambda s: "".join(f"={ord(c):02X}" for c in s),
    "in a sentence": lambda s: f"My code is {s}, keep it.",
}


@pytest.mark.parametrize("writing", WRITINGS)
def test_a_secret_is_recognised(writing: str) -> None:
    assert is_told(SECRET, [{"name": "Ada", "note": WRITINGS[writing](SECRET)}])


@pytest.mark.parametrize(
    "messages",
    [
        [{"x": SECRET[:5]}, {"x": SECRET[5:]}],
        [{"name": "Ada", "x": piece} for piece in SECRET],
        [{"i": i, "x": piece} for i, piece in reversed(list(enumerate(SECRET)))],
        [{"i": i, "x": SECRET[i]} for i in (7, 2, 12, 0, 4, 1, 9, 3, 11, 5, 10, 6, 8)],
        [{"x": ord(piece)} for piece in SECRET],
        [{"x": [ord(piece) for piece in SECRET]}],
        [{"bits": [bit == "1" for piece in SECRET for bit in f"{ord(piece):08b}"]}],
        [{"a": "tea", "b": {"c": 4417, "d": 9052}}],
        [{"tea-4417": 1}, {"-9052": 2}],
        [list(SECRET)],
        ["tea", 4417, 9052],
        [{"x": base64.b64encode(SECRET.encode()).decode()[n : n + 4]} for n in range(0, 20, 4)],
        [{"x": quote(SECRET)[n : n + 2]} for n in range(0, 20, 2)],
        [{"n": 44179052}],
        [{"x": part} for part in reversed([SECRET[:4], SECRET[4:8], SECRET[8:]])],
    ],
    ids=str,
)
def test_a_secret_in_pieces_is_recognised(messages: list[object]) -> None:
    assert is_told(SECRET, messages)


@settings(max_examples=60, deadline=None)
@given(
    word=st.text("abcdefghijklmnopqrstuvwxyz", min_size=3, max_size=8),
    digits=st.integers(10**7, 10**8 - 1),
    ways=st.lists(
        st.sampled_from(
            ["percent, all", "base64", "hexadecimal", "html, decimal", "JSON escapes", "codes", "reversed"]
        ),
        max_size=2,
    ),
    lead=st.text(max_size=5),
)
def test_writings_inside_writings_are_recognised(word: str, digits: int, ways: list[str], lead: str) -> None:
    secret = text = f"{word}-{digits // 10000}-{digits % 10000}"
    for way in ways:
        text = WRITINGS[way](text)
    assert is_told(secret, [{"lead": lead}, {"note": text}])


HONEST: list[object] = [
    {"name": "Ada", "club": "tea"},
    {"name": "Ada", "club": "tea", "year": 4417},
    {"about": "tea", "stars": 5},
    {"message": "meet me at nine, and bring 4417 cups of tea"},
    {"message": "9052 and nothing"},
    {"text": "a-b-c-d" * 40},
    {"text": "zzzzzzzzzzzzzzz"},
    {"sum": 9052.5, "n": -44},
    {"done": [True, False] * 50},
    {"rows": [[n, n * n] for n in range(60)]},
    {"rows": [{"name": "tea", "price": n} for n in range(44, 91)]},
    {"photo": base64.b64encode(bytes(range(256)) * 4).decode()},
    {"colour": "#4417ff"},
    {"url": "a%20b%2Fc"},
    {"text": "R&amp;D &#169; \\u00e9"},
    {"phone": "tea-4417"},
    {"id": "c0ffee00-4417-4a1b-9052-0123456789ab"},
    {"at": "2026-12-03T09:05:02Z", "zone": None},
    {"text": "".join(chr(0x1F600 + n) for n in range(60))},
    {"text": ""},
    [],
    "tea",
    None,
]


@pytest.mark.parametrize("message", HONEST, ids=lambda message: str(message)[:40])
def test_what_says_no_secret_is_left_alone(message: object) -> None:
    assert not is_told(SECRET, [{"name": "Ada"}, message, message])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.dictionaries(st.text(max_size=6), st.text(max_size=30) | st.integers(), max_size=4), max_size=6))
def test_random_messages_say_no_secret(messages: list[object]) -> None:
    assert not is_told("walnut-5186-2073", messages)


def test_a_short_secret_must_stand_by_itself() -> None:
    assert is_told("42", [{"a": "the code is 42."}]) and is_told("42", [{"a": 42}])
    assert is_told("4x2", [{"a": base64.b64encode(b"it is 4x2 !").decode()}])
    assert not is_told("42", [{"a": "1427"}, {"a": 4}, {"a": 2}])


def test_a_flood_of_text_is_read_in_bounded_time() -> None:
    assert not is_told(SECRET, [{"text": base64.b64encode(b"a b c " * 1000).decode()}])


def test_what_cannot_be_looked_through_counts_as_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rsi.verify.ui.disguise.LIMIT", 1000)
    assert is_told(SECRET, [{"text": "a b c " * 100}])
