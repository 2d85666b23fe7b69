"""Text from outside is fit to be stored and shown, whatever comes."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rsi.text import MAX_DEPTH, clean, decode, escape, parse_json, unix_lines

# Every code point, surrogates and NUL included.
ANY_TEXT = st.text(st.characters(exclude_categories=()))


@given(ANY_TEXT)
def test_clean_text_can_be_stored_and_stays_as_it_is(text: str) -> None:
    once = clean(text)
    once.encode("utf-8")
    assert "\0" not in once
    assert clean(once) == once


@given(st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0")))
def test_good_text_is_left_alone(text: str) -> None:
    assert clean(text) == text


@pytest.mark.parametrize(
    ("text", "right"),
    [("\ud800", "�"), ("a\udc00b", "a�b"), ("\ud83d\ude00", "😀"), ("\ude00\ud83d", "��"), ("a\0b", "a�b")],
)
def test_surrogates(text: str, right: str) -> None:
    assert clean(text) == right


@given(st.binary())
def test_any_bytes_decode(data: bytes) -> None:
    decode(data).encode("utf-8")


def test_a_byte_order_mark_is_no_text() -> None:
    assert decode(b"\xef\xbb\xbfa = 1") == "a = 1"
    assert parse_json("\ufeff{}") == parse_json(b"\xef\xbb\xbf{}") == {}


def test_line_ends() -> None:
    assert unix_lines("a\r\nb\rc\n") == "a\nb\nc\n"


@given(st.one_of(ANY_TEXT, st.binary()))
def test_parse_json_raises_nothing_but_value_errors(text: str | bytes) -> None:
    try:
        value = parse_json(text)
    except ValueError:
        return
    json.dumps(value, ensure_ascii=False).encode("utf-8")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[" * 100_000,
        "[" * 900 + "]" * 900,
        '{"a":' * 500 + "1" + "}" * 500,
        "1" * 5000,
        "nul",
        '"\x01"',
        "{'a'}",
    ],
    ids=range(9),
)
def test_json_that_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="JSON"):
        parse_json(text)


def test_json_strings_and_keys_are_clean() -> None:
    assert parse_json('{"\\ud800": ["\\u0000", "\\ud83d\\ude00"]}') == {"�": ["�", "😀"]}
    deepest = "[" * MAX_DEPTH + "]" * MAX_DEPTH
    assert parse_json(deepest) is not None


@given(ANY_TEXT)
def test_what_is_shown_is_seen(text: str) -> None:
    shown = escape(text)
    assert all(c in "\n\t" or c.isprintable() or c == "　" or c.isspace() for c in shown)


def test_escapes_are_readable() -> None:
    assert escape("\x1b[31mred\u202e") == "\\x1b[31mred\\u202e"
