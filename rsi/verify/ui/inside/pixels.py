"""Screenshots: what of a text or an element makes a difference to the eye. Pure."""

import math
import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

_LINEAR = [c / 255 / 12.92 if c <= 10 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in range(256)]
_RED, _GREEN, _BLUE = ([share * c for c in _LINEAR] for share in (0.2126, 0.7152, 0.0722))


@dataclass(frozen=True)
class Area:
    """In whole pixels."""

    x: int
    y: int
    width: int
    height: int

    def within(self, other: "Area") -> "Area":
        x, y = max(self.x, other.x), max(self.y, other.y)
        right = min(self.x + self.width, other.x + other.width)
        bottom = min(self.y + self.height, other.y + other.height)
        return Area(x, y, max(0, right - x), max(0, bottom - y))

    @property
    def is_empty(self) -> bool:
        return not (self.width and self.height)


def cover(x: float, y: float, width: float, height: float) -> Area:
    """The smallest area around a box."""
    left, top = math.floor(x), math.floor(y)
    return Area(left, top, math.ceil(x + width) - left, math.ceil(y + height) - top)


def unite(areas: Sequence[Area]) -> Area:
    """The smallest area around those that are not empty."""
    areas = [area for area in areas if not area.is_empty] or [Area(0, 0, 0, 0)]
    x, y = min(area.x for area in areas), min(area.y for area in areas)
    right, bottom = max(area.x + area.width for area in areas), max(area.y + area.height for area in areas)
    return Area(x, y, right - x, bottom - y)


@dataclass(frozen=True)
class Difference:
    """What two screenshots of one place differ by: the strongest contrast (1 is none), the share of pixels that differ,
    and how sharp its edges are (1: from all to nothing between two neighbours)."""

    contrast: float
    share: float
    sharpness: float


NONE = Difference(1.0, 0.0, 0.0)


class Picture:
    """The luminance of each pixel of `area`, by rows."""

    def __init__(self, area: Area, png: bytes) -> None:
        self.area = area
        self.rows = [
            [_RED[r] + _GREEN[g] + _BLUE[b] for r, g, b in zip(row[0::n], row[1::n], row[2::n], strict=True)]
            for row, n in _rows(png)
        ]

    def differ(self, other: "Picture", area: Area) -> Difference:
        """In `area`, which may lie outside in part."""
        area = area.within(self.area).within(other.area)
        if area.is_empty:
            return NONE
        left, right = area.x - self.area.x, area.x - self.area.x + area.width
        top, bottom = area.y - self.area.y, area.y - self.area.y + area.height
        pairs = list(zip(self.rows[top:bottom], other.rows[top:bottom], strict=True))
        contrasts = [
            _contrast(a, b) for mine, its in pairs for a, b in zip(mine[left:right], its[left:right], strict=True)
        ]
        if not contrasts:
            return NONE
        inks = [[abs(a - b) for a, b in zip(mine[left:right], its[left:right], strict=True)] for mine, its in pairs]
        peak = max(map(max, inks))
        share = sum(contrast > _FAINT for contrast in contrasts) / len(contrasts)
        return Difference(max(contrasts), share, _steepest(inks) / peak if peak else 0.0)


_FAINT = 1.08


def _contrast(a: float, b: float) -> float:
    """As the Web Content Accessibility Guidelines define it."""
    return (a + 0.05) / (b + 0.05) if a > b else (b + 0.05) / (a + 0.05)


def _steepest(rows: Sequence[Sequence[float]]) -> float:
    across = (abs(a - b) for row in rows for a, b in pairwise(row))
    down = (abs(a - b) for row, below in pairwise(rows) for a, b in zip(row, below, strict=True))
    return max(max(across, default=0.0), max(down, default=0.0))


def _rows(png: bytes) -> Iterator[tuple[bytes, int]]:
    """Each row's bytes and the bytes a pixel. Eight bits a channel, RGB or RGBA, not interlaced, as Chromium writes."""
    width, height, _, kind = struct.unpack(">IIBB", png[16:26])
    size, at, packed = 3 if kind == 2 else 4, 8, bytearray()
    while at < len(png):
        (length,) = struct.unpack(">I", png[at : at + 4])
        if png[at + 4 : at + 8] == b"IDAT":
            packed += png[at + 8 : at + 8 + length]
        at += length + 12
    raw, step = zlib.decompress(bytes(packed)), width * size + 1
    before = bytes(width * size)
    for n in range(height):
        before = _unfilter(raw[n * step], raw[n * step + 1 : (n + 1) * step], before, size)
        yield before, size


def _unfilter(way: int, row: bytes, up: bytes, size: int) -> bytes:
    if way == 0:
        return row
    if way == 2:
        return bytes((c + u) & 255 for c, u in zip(row, up, strict=True))
    out = bytearray(size) + bytearray(len(row))  # the pixel left of the first is black
    above = bytes(size) + up
    for n, c in enumerate(row, size):
        left = out[n - size]
        if way == 1:
            guess = left
        elif way == 3:
            guess = (left + above[n]) // 2
        else:
            guess = _paeth(left, above[n], above[n - size])
        out[n] = (c + guess) & 255
    return bytes(out[size:])


def _paeth(left: int, up: int, corner: int) -> int:
    guess = left + up - corner
    near = min(abs(guess - left), abs(guess - up), abs(guess - corner))
    return left if abs(guess - left) == near else up if abs(guess - up) == near else corner
