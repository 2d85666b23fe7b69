"""One text as it is read: what the document says there, and which of its characters were seen so far."""

from collections.abc import Sequence
from typing import Any

from rsi.verify.ui.inside import scripts
from rsi.verify.ui.inside.legible import Glyph, compose, find_seen
from rsi.verify.ui.inside.pixels import Area, Difference


class Reading:
    """Of the element that the selector `at` finds. `take` says what stands there now, `see` what hiding it changes."""

    def __init__(self, at: str) -> None:
        self.at, self.glyphs = at, list[Glyph]()
        self._survey: dict[str, Any] | None = None
        self._seen: list[bool] = []

    def take(self, survey: dict[str, Any] | None) -> None:
        """Where it stands, which may have moved; what was seen of another text is forgotten."""
        before, self._survey = self._survey, survey
        self.glyphs = [Glyph(*glyph) for glyph in survey["glyphs"]] if survey else []
        if not (before and survey and before["text"] == survey["text"] and len(self._seen) == len(self.glyphs)):
            self._seen = [False] * len(self.glyphs)

    def see(self, differences: Sequence[Difference]) -> None:
        self._seen = [a or b for a, b in zip(self._seen, find_seen(self.glyphs, differences), strict=True)]

    @property
    def missing(self) -> list[int]:
        return [n for n, is_seen in enumerate(self._seen) if not is_seen]

    @property
    def unseen(self) -> str:
        return "".join(self.glyphs[n].text for n in self.missing)

    @property
    def told(self) -> str | None:
        """The text that a person sees; None where the element is missing."""
        if self._survey is None:
            return None
        if self._survey["field"]:
            return self._survey["text"] if all(self._seen) else ""
        return compose(self._survey["text"], self.glyphs, self._seen)

    @property
    def view(self) -> Area:
        """The part of the page that the screen shows."""
        return Area(*map(int, self._survey["view"])) if self._survey else Area(0, 0, 0, 0)

    @property
    def hiding(self) -> str:
        """The rules that hide this text and nothing else."""
        if self._survey is None:
            return ""
        here = self._survey["path"]
        drawn = f"{here}:is(text,tspan,textPath),{here} :is(text,tspan,textPath)"
        rules = f"{here},{here} *{scripts.HIDE_TEXT}{drawn}{scripts.HIDE_DRAWN_TEXT}"
        return rules + "".join(path + scripts.HIDE_CLIPPED for path in self._survey["clipped"])
