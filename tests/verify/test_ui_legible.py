"""What two screenshots tell of a text."""

import struct
import zlib

import pytest

from rsi.verify.ui.inside.legible import Glyph, compose, find_seen, is_in_order
from rsi.verify.ui.inside.pixels import NONE, Area, Difference, Picture, cover, unite

CLEAR = Difference(9.0, 0.3, 0.9)


def png(rows: list[list[int]], way: int) -> bytes:
    """A grey picture, every row filtered in the same `way`."""
    flat = [bytes(v for grey in row for v in (grey, grey, grey)) for row in rows]
    packed, up = b"", bytes(len(flat[0]))
    for row in flat:
        left, corner = bytes(3) + row[:-3], bytes(3) + up[:-3]
        guesses = [[0] * len(row), left, up, [(a + b) // 2 for a, b in zip(left, up, strict=True)]]
        paeth = [min((a, b, c), key=lambda v: abs(a + b - c - v)) for a, b, c in zip(left, up, corner, strict=True)]
        filtered = bytes((v - g) & 255 for v, g in zip(row, [*guesses, paeth][way], strict=True))
        packed, up = packed + bytes([way]) + filtered, row
    chunks = [
        (b"IHDR", struct.pack(">IIBBBBB", len(rows[0]), len(rows), 8, 2, 0, 0, 0)),
        (b"IDAT", zlib.compress(packed)),
    ]
    body = b"".join(struct.pack(">I", len(data)) + kind + data + bytes(4) for kind, data in chunks)
    return b"\x89PNG\r\n\x1a\n" + body


@pytest.mark.parametrize("way", range(5))
def test_a_picture_is_read_whatever_its_filter(way: int) -> None:
    rows = [[(x * 37 + y * 91) % 256 for x in range(7)] for y in range(5)]
    area = Area(0, 0, 7, 5)
    plain, read = Picture(area, png(rows, 0)), Picture(area, png(rows, way))
    assert read.rows == plain.rows and plain.differ(read, area) == Difference(1.0, 0.0, 0.0)


def test_a_difference_is_told_by_contrast_share_and_sharpness() -> None:
    area = Area(10, 10, 4, 1)
    white, inked = Picture(area, png([[255] * 4], 0)), Picture(area, png([[255, 0, 255, 255]], 0))
    assert white.differ(inked, area) == Difference(pytest.approx(21.0), 0.25, pytest.approx(1.0))
    assert white.differ(inked, Area(12, 10, 9, 9)).contrast == 1.0
    assert white.differ(inked, Area(0, 0, 5, 5)) == NONE


def test_areas_cover_whole_pixels() -> None:
    assert cover(1.5, -0.5, 1, 1) == Area(1, -1, 2, 2)
    assert unite([Area(0, 0, 0, 9), Area(1, 1, 1, 1), Area(4, 4, 2, 2)]) == Area(1, 1, 5, 5)


def line(text: str, y: float = 0, x: float = 0, step: float = 8, height: float = 16) -> list[Glyph]:
    return [Glyph(c, x + n * step, y, 8, height, 0) for n, c in enumerate(text) if c != " "]


@pytest.mark.parametrize(
    ("made", "seen"),
    [
        (CLEAR, True),
        (NONE, False),
        (Difference(1.2, 0.3, 0.9), False),
        (Difference(9.0, 0.3, 0.1), False),
        (Difference(9.0, 1.0, 0.9), False),
    ],
)
def test_a_letter_is_seen_by_the_difference_it_makes(made: Difference, seen: bool) -> None:
    assert find_seen(line("a"), [made]) == [seen]


def test_a_letter_too_small_is_not_seen_and_a_thin_one_is() -> None:
    assert find_seen(line("a", height=2), [CLEAR]) == [False]
    assert find_seen(line("m."), [CLEAR, Difference(1.2, 0.1, 0.9)]) == [True, True]


@pytest.mark.parametrize(
    ("glyphs", "ordered"),
    [
        (line("tea"), True),
        (line("tea") + line("two", y=20), True),
        (line("tea") + line("two", x=60), True),
        (line("tea") + line("two", y=20) + line("six", x=60), True),
        (line("\u05d0\u05d1", step=-8), True),
        ([], True),
        (line("tea", step=-8), False),
        (line("tea", step=0), False),
        (line("two", y=20) + line("tea"), False),
        (line("tea") + line("two"), False),
    ],
)
def test_reading_order(glyphs: list[Glyph], ordered: bool) -> None:
    assert is_in_order(glyphs) == ordered


@pytest.mark.parametrize(
    ("text", "unseen", "told"),
    [
        ("Tea 42", "", "Tea 42"),
        ("Tea 42", "42", "Tea"),
        ("Tea (now)", "(now)", "Tea"),
        ("Tea 42", "Tea42", ""),
        ("a\nb\nc", "b", "a\nc"),
        ("", "", ""),
    ],
)
def test_what_is_not_seen_is_left_out(text: str, unseen: str, told: str) -> None:
    glyphs = [glyph for n, part in enumerate(text.split("\n")) for glyph in line(part, y=20 * n)]
    assert compose(text, glyphs, [glyph.text not in unseen for glyph in glyphs]) == told


def test_a_text_that_is_not_what_is_drawn_is_not_read_in_part() -> None:
    assert compose("Tea", line("Te"), [True, False]) == "" and compose("Tea", [], []) == ""
