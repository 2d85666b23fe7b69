"""Which characters of a text a person can read, from where each is drawn and what difference it makes. Pure."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from rsi.verify.ui.inside.pixels import Area, Difference, cover

SMALLEST = 6.5  # pixels: a character's height
CONTRAST = 1.35  # a text's strongest; black on white is 21, and a light grey (#ddd) on white 1.36
FAINTEST = 1.15  # a single character's strongest: thin ones cover no pixel whole
SHARPEST = 0.35  # of a text: what is blurred more has no shapes
LARGEST_SHARE = 0.97  # of a letter's or digit's box: what changes all of it is no shape


@dataclass(frozen=True)
class Glyph:
    """One character as a person counts them, where it is drawn, and which run of equal style it belongs to."""

    text: str
    x: float
    y: float
    width: float
    height: float
    run: int

    @property
    def area(self) -> Area:
        return cover(self.x, self.y, self.width, self.height)


def find_seen(glyphs: Sequence[Glyph], differences: Sequence[Difference]) -> list[bool]:
    """Whether each glyph is seen. `differences`: what hiding the text changes in each one's area."""
    strongest: dict[int, tuple[float, float]] = {}
    for glyph, made in zip(glyphs, differences, strict=True):
        contrast, sharpness = strongest.get(glyph.run, (1.0, 0.0))
        strongest[glyph.run] = (max(contrast, made.contrast), max(sharpness, made.sharpness))
    return [
        strongest[glyph.run][0] >= CONTRAST and strongest[glyph.run][1] >= SHARPEST and _is_drawn(glyph, made)
        for glyph, made in zip(glyphs, differences, strict=True)
    ]


def _is_drawn(glyph: Glyph, made: Difference) -> bool:
    if glyph.height < SMALLEST or glyph.width <= 0:
        return False
    return made.contrast >= FAINTEST and (made.share <= LARGEST_SHARE or not glyph.text.isalnum())


def compose(text: str, glyphs: Sequence[Glyph], seen: Sequence[bool]) -> str:
    """`text`, whose visible characters `glyphs` are in order, without those that are not seen. Nothing at all where
    what is seen is not in reading order, or where the two do not fit together and not all is seen."""
    if not is_in_order([glyph for glyph, is_seen in zip(glyphs, seen, strict=True) if is_seen]):
        return ""
    if all(seen) and glyphs:
        return text
    units = sum(len(glyph.text) for glyph in glyphs)
    if units != sum(not c.isspace() for c in text):
        return ""
    flags = iter([is_seen for glyph, is_seen in zip(glyphs, seen, strict=True) for _ in glyph.text])
    lines = []
    for line in text.split("\n"):
        kept = [(c, c.isspace() or next(flags)) for c in line]
        if all(is_seen for _, is_seen in kept):
            lines.append(line)
        elif any(is_seen and not c.isspace() for c, is_seen in kept):
            lines.append(" ".join("".join(c for c, is_seen in kept if is_seen).split()))
    return "\n".join(lines).strip()


def is_in_order(glyphs: Sequence[Glyph]) -> bool:
    """Whether each glyph is right of the one before, on a line below, or at the head of a further column. Scripts that
    run from right to left are not looked at."""
    if any(unicodedata.bidirectional(c) in ("R", "AL") for glyph in glyphs for c in glyph.text):
        return True
    return all(_follows(a, b) for a, b in pairwise(glyphs))


def _follows(a: Glyph, b: Glyph) -> bool:
    lower = (b.y + b.height / 2) - (a.y + a.height / 2)
    if abs(lower) < min(a.height, b.height) / 2:
        return b.x >= a.x + a.width / 4
    return lower > 0 or b.x >= a.x + a.width - 1
