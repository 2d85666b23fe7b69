"""One tab at a time: loads the component, does the steps, and says what a person would see.

A text is seen where hiding it changes what the screen shows, by enough contrast and in shapes; and so is an element
that is to be clicked.
"""

import base64
import json
import time
from collections.abc import Iterator, Sequence
from typing import Any

from rsi.verify.ui.inside import scripts
from rsi.verify.ui.inside.browser import Browser, PageError
from rsi.verify.ui.inside.legible import FAINTEST
from rsi.verify.ui.inside.pixels import Area, Picture, cover, unite
from rsi.verify.ui.inside.reading import Reading

HOME = "file:///task/page.html"
OWN = (HOME, "file:///task/page.js")
HARMLESS = ("data:", "blob:", "about:", "javascript:")
HEIGHT = 800
BESIDE = "beside"  # the world of what watches
MOST = 100  # addresses that are told
LOADS = 8.0  # seconds
LATER = 60_000  # milliseconds of the page's clock after the last step
PATIENCE = 2.0  # seconds of ours that they may take
LOOKS = 8  # at one text, scrolled further each time
SECOND_LOOK = 0.3  # seconds later, for what comes in by and by
TRIES = 3  # until what is looked at comes to rest
LARGEST = 300_000  # pixels of one screenshot for several texts


class Page:
    """What was done and heard since `load`."""

    def __init__(self, browser: Browser) -> None:
        self._browser, self._world, self._tools = browser, 0, ""
        self._target = self._frame = self._sheet = ""
        self._proven, self._unseen = set[tuple[str, bytes]](), set[tuple[str, str]]()

    def load(self, width: int) -> None:
        """A new tab in place of the one before: its clock begins anew."""
        browser, old = self._browser, self._target
        browser.session, self._proven, self._unseen = "", set(), set()
        self._target = browser.send("Target.createTarget", url="about:blank")["targetId"]
        if old:
            browser.send("Target.closeTarget", targetId=old)
        browser.session = browser.send("Target.attachToTarget", targetId=self._target, flatten=True)["sessionId"]
        browser.forget()
        for name in ("Inspector", "Page", "Runtime", "Network", "DOM", "CSS", "Preload"):
            browser.send(name + ".enable")
        for name in ("__toModel", "__channel"):
            browser.send("Runtime.addBinding", name=name)
        browser.send("Runtime.addBinding", name="__hint", executionContextName=BESIDE)
        browser.send("Page.addScriptToEvaluateOnNewDocument", source=scripts.WATCH)
        browser.send("Page.addScriptToEvaluateOnNewDocument", source=scripts.WATCH_LINKS, worldName=BESIDE)
        browser.send(
            "Emulation.setDeviceMetricsOverride", width=width, height=HEIGHT, deviceScaleFactor=1, mobile=False
        )
        self._frame = browser.send("Page.navigate", url=HOME)["frameId"]
        end = time.monotonic() + LOADS
        while not any(method == "Page.loadEventFired" for method, _ in browser.heard):
            if time.monotonic() > end:
                raise PageError("the page does not load")
            browser.send("Page.getFrameTree")
            time.sleep(0.01)
        self._world = browser.send("Page.createIsolatedWorld", frameId=self._frame)["executionContextId"]
        made = browser.send("Runtime.evaluate", expression=scripts.TOOLS, contextId=self._world)
        self._tools = made["result"]["objectId"]
        self._sheet = browser.send("CSS.createStyleSheet", frameId=self._frame)["styleSheetId"]

    def do(self, steps: Sequence[dict[str, str]]) -> Iterator[Any]:
        """One entry a step, in order: the text of a read (None where its element is missing), else whether the target
        could be used. Reads in a row look at the same moment."""
        at = 0
        while at < len(steps):
            end = at
            while end < len(steps) and steps[end]["do"] == "read":
                end += 1
            if end > at:
                yield from self._read([step["at"] for step in steps[at:end]])
                at = end
            else:
                yield self._act(steps[at])
                at += 1

    def bounds(self) -> list[int]:
        """How far the page's content reaches to the left and to the right."""
        found: list[int] = self._ask("bounds")
        return found

    def settle(self) -> None:
        """Drive the page's clock on by LATER; a page that keeps it from getting there is given PATIENCE."""
        self._browser.send("Emulation.setVirtualTimePolicy", policy="advance", budget=LATER)
        end, expired = time.monotonic() + PATIENCE, "Emulation.virtualTimeBudgetExpired"
        while time.monotonic() < end and not any(method == expired for method, _ in self._browser.heard):
            self._browser.send("Page.getFrameTree")
            time.sleep(0.01)

    def to_model(self) -> list[str]:
        return [p["payload"] for p in self._events("Runtime.bindingCalled") if p["name"] == "__toModel"]

    def requests(self) -> list[str]:
        """What the page tried to reach, opened, or went to."""
        asked = [p["request"]["url"] for p in self._events("Network.requestWillBeSent")]
        asked += [p["url"] for p in self._events("Page.frameRequestedNavigation")]
        asked = [url for url in asked if url.partition("#")[0] not in OWN and not url.startswith(HARMLESS)]
        for kind in ("Network.webSocketCreated", "Network.webTransportCreated", "Page.windowOpen"):
            asked += [p["url"] or "about:blank" for p in self._events(kind)]
        asked += [p["payload"] for p in self._events("Runtime.bindingCalled") if p["name"] != "__toModel"]
        asked += ["speculation rules" for _ in self._events("Preload.ruleSetUpdated")]
        return [url[:200] for url in dict.fromkeys(asked)][:MOST]

    def errors(self) -> int:
        return len(self._events("Runtime.exceptionThrown"))

    def _events(self, kind: str) -> list[Any]:
        return [params for method, params in self._browser.heard if method == kind]

    def _ask(self, name: str, *given: Any, wait: bool = False) -> Any:
        """One of the tools' functions."""
        found = self._browser.send(
            "Runtime.callFunctionOn",
            functionDeclaration=f"function(...given) {{ return this.{name}(...given) }}",
            objectId=self._tools,
            arguments=[{"value": value} for value in given],
            returnByValue=True,
            awaitPromise=wait,
        )
        if "exceptionDetails" in found:
            raise PageError(f"the page cannot be read: {json.dumps(found['exceptionDetails'])[:80]}")
        return found["result"].get("value")

    def _act(self, step: dict[str, str]) -> bool:
        place = self._ask("place", step["at"])
        if place is None or not self._is_shown(place):
            return False
        x, y = place["at"]
        for kind in ("mousePressed", "mouseReleased"):
            self._browser.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
        if step["do"] == "type":
            self._ask("toEnd", step["at"])
            for character in step["text"]:
                self._browser.send("Input.dispatchKeyEvent", type="keyDown", text=character, key=character)
                self._browser.send("Input.dispatchKeyEvent", type="keyUp", key=character)
        return True

    def _is_shown(self, place: dict[str, Any]) -> bool:
        """Whether hiding the element changes what the screen shows; it was proven if it looks as it did before."""
        area = cover(*place["box"]).within(Area(*map(int, place["view"])))
        if area.is_empty:
            return False
        png = self._shoot(area)
        if (place["path"], png) not in self._proven:
            shown, hidden = self._shoot_both(area, place["path"] + scripts.HIDE_ELEMENT)
            if shown.differ(hidden, area).contrast < FAINTEST:
                return False
            self._proven.add((place["path"], png))
        return True

    def _read(self, places: Sequence[str]) -> list[str | None]:
        self._ask("frame", wait=True)
        readings = [Reading(at) for at in places]
        self._look(readings)
        self._look_further(readings)
        unsure = [reading for reading in readings if reading.unseen and not self._is_known(reading)]
        if unsure:
            time.sleep(SECOND_LOOK)
            self._look(unsure)
            self._look_further(unsure)
            self._unseen.update((reading.at, reading.unseen) for reading in unsure)
        return [reading.told for reading in readings]

    def _is_known(self, reading: Reading) -> bool:
        """Whether the very same was not seen there before, as what is for screen readers alone."""
        return (reading.at, reading.unseen) in self._unseen

    def _look_further(self, readings: Sequence[Reading]) -> None:
        """At each text by itself, scrolled to what of it is not seen yet."""
        for reading in readings:
            tried = set[int]()  # runs that were scrolled to, and yet not seen
            for _ in range(LOOKS):
                missing = next((n for n in reading.missing if reading.glyphs[n].run not in tried), None)
                if missing is None or self._is_known(reading):
                    break
                run = reading.glyphs[missing].run
                self._ask("bring", reading.at, missing)
                self._ask("frame", wait=True)
                self._look([reading])
                if missing in reading.missing:
                    tried.add(run)

    def _look(self, readings: Sequence[Reading]) -> None:
        """Take in what is seen as the page is scrolled now, of all texts at the same moment."""
        for reading in readings:
            reading.take(self._ask("survey", reading.at))
        there = [reading for reading in readings if reading.glyphs]
        area = unite([glyph.area.within(reading.view) for reading in there for glyph in reading.glyphs])
        if len(there) > 1 and area.width * area.height > LARGEST:
            for reading in there:
                self._look([reading])
        elif not area.is_empty:
            shown, hidden = self._shoot_both(area, "".join(reading.hiding for reading in there))
            for reading in there:
                reading.see([shown.differ(hidden, glyph.area) for glyph in reading.glyphs])

    def _shoot_both(self, area: Area, rules: str) -> tuple[Picture, Picture]:
        """As it is, and with `rules`. The same twice where it does not come to rest."""
        self._style(self._sheet, scripts.STILL)  # also between the two: what comes back does so at once
        try:
            before = self._shoot(area)
            for _ in range(TRIES):
                self._style(self._sheet, scripts.STILL + rules)
                hidden = self._shoot(area)
                self._style(self._sheet, scripts.STILL)
                after = self._shoot(area)
                if before == after:
                    return Picture(area, before), Picture(area, hidden)
                before = after
            return Picture(area, before), Picture(area, before)
        finally:
            self._style(self._sheet, "")

    def _style(self, sheet: str, rules: str) -> None:
        self._browser.send("CSS.setStyleSheetText", styleSheetId=sheet, text=rules)

    def _shoot(self, area: Area) -> bytes:
        clip = {"x": area.x, "y": area.y, "width": area.width, "height": area.height, "scale": 1}
        taken = self._browser.send("Page.captureScreenshot", format="png", captureBeyondViewport=False, clip=clip)
        return base64.b64decode(taken["data"])
