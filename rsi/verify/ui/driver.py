"""Runs inside the sandbox, with the standard library alone: drives a page in headless Chromium over a pipe.

It reads /task/job.json ({"nonce", "widths", "steps", "times", "seconds"}). It prints UP once the browser is up, when no
code of the component has run yet, then one line of JSON: what it observed. What is expected is never here. The page is
read from an isolated world, whose functions the page's own script cannot replace. After the last step the page's clock
is driven on, so that what it does late (sends, asks for, fails at) is seen too.
"""

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

BROWSER = "/usr/lib/chromium/chromium"
# Chromium's own sandbox needs user namespaces, which ours refuses; ours is the one that holds.
FLAGS = (
    "--headless --no-startup-window --no-sandbox --no-zygote --disable-gpu --disable-dev-shm-usage --no-first-run "
    "--disable-extensions --disable-background-networking --remote-debugging-pipe --user-data-dir=/tmp/profile "
    "--disable-features=SpareRendererForSitePerProcess,PreloadTopChromeWebUI"  # each process costs 0.3 s to start
)
UP = "the browser is up"
LATER = 60_000  # milliseconds of the page's clock after the last step
PATIENCE = 2.0  # seconds of ours that they may take
FIND = "const e=document.querySelector(%s); if(!e) return null; "
READ = FIND + "return 'value' in e && e.tagName!=='BUTTON' && e.tagName!=='LI' ? e.value : e.innerText.trim()"
PLACE = FIND + (
    "e.scrollIntoView({block:'center',behavior:'instant'}); const r=e.getBoundingClientRect(); "
    "return r.width && r.height ? [r.x+r.width/2, r.y+r.height/2] : null"
)
WIDE = "return Math.max(document.documentElement.scrollWidth, document.body.scrollWidth)"


class Page:
    """One tab at a time. `heard` are the (method, params) of events, in order."""

    def __init__(self) -> None:
        mine_in, self._out = os.pipe()
        self._in, mine_out = os.pipe()
        shell = ["bash", "-c", f"exec {BROWSER} {FLAGS} 3<&{mine_in} 4>&{mine_out}"]
        self.process = subprocess.Popen(
            shell, pass_fds=(mine_in, mine_out), stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
        )
        os.close(mine_in)
        os.close(mine_out)
        self._rest, self._n, self._world = b"", 0, 0
        self._target, self._session = "", ""
        self.heard: list[tuple[str, Any]] = []
        self.open()

    def open(self) -> None:
        """A new tab in place of the one before: its clock begins anew."""
        old, self._session, self._world = self._target, "", 0
        self._target = self.send("Target.createTarget", url="about:blank")["targetId"]
        if old:
            self.send("Target.closeTarget", targetId=old)
        self._session = self.send("Target.attachToTarget", targetId=self._target, flatten=True)["sessionId"]
        for name in ("Inspector", "Page", "Runtime", "Network"):
            self.send(name + ".enable")
        self.send("Runtime.addBinding", name="__toModel")
        self.heard.clear()

    def send(self, method: str, **params: Any) -> Any:
        self._n += 1
        message = {"id": self._n, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            reply = self._next()
            if reply.get("id") == self._n:
                if "error" in reply:
                    raise RuntimeError(f"{method}: {reply['error']}")
                return reply["result"]
            if reply.get("method") == "Inspector.targetCrashed":
                raise RuntimeError("the page ended")
            self.heard.append((reply.get("method", ""), reply.get("params", {})))

    def _next(self) -> Any:
        while b"\0" not in self._rest:
            more = os.read(self._in, 1 << 16)
            if not more:
                raise RuntimeError("the browser ended")
            self._rest += more
        first, self._rest = self._rest.split(b"\0", 1)
        return json.loads(first)

    def load(self, width: int) -> None:
        if self._world:  # the tab has been used
            self.open()
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=False)
        frame = self.send("Page.navigate", url="file:///task/page.html")["frameId"]
        while not any(method == "Page.loadEventFired" for method, _ in self.heard):
            self.send("Page.getFrameTree")
            time.sleep(0.01)
        self._world = self.send("Page.createIsolatedWorld", frameId=frame)["executionContextId"]

    def ask(self, body: str) -> Any:
        code = "(()=>{" + body + "})()"
        found = self.send("Runtime.evaluate", expression=code, contextId=self._world, returnByValue=True)
        return found["result"].get("value")

    def click(self, at: str) -> bool:
        place = self.ask(PLACE % json.dumps(at))
        if place is None:
            return False
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, x=place[0], y=place[1], button="left", clickCount=1)
        return True

    def do(self, step: dict[str, str]) -> Any:
        """A read gives text or null; a click or typing gives whether its target was there to be used."""
        if step["do"] == "read":
            return self.ask(READ % json.dumps(step["at"]))
        done = self.click(step["at"])
        if done and step["do"] == "type":
            self.send("Input.insertText", text=step["text"])
        return done

    def settle(self) -> None:
        """Drive the page's clock on by LATER; a page that keeps it from getting there is given PATIENCE."""
        self.send("Emulation.setVirtualTimePolicy", policy="advance", budget=LATER)
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end and not any(m == "Emulation.virtualTimeBudgetExpired" for m, _ in self.heard):
            self.send("Page.getFrameTree")
            time.sleep(0.01)


def observe(page: Page, width: int, steps: list[dict[str, str]]) -> dict[str, Any]:
    page.load(width)
    first = page.ask(WIDE)
    seen = [page.do(step) for step in steps]
    page.settle()
    last = page.ask(WIDE)
    requests = [p["request"]["url"][:200] for m, p in page.heard if m == "Network.requestWillBeSent"]
    return {
        "width": width,
        "widest": max(first, last),
        "seen": seen,
        "to_model": [p["payload"] for m, p in page.heard if m == "Runtime.bindingCalled"],
        "requests": [url for url in requests if url not in ("file:///task/page.html", "file:///task/page.js")],
        "errors": sum(m == "Runtime.exceptionThrown" for m, _ in page.heard),
    }


def main() -> None:
    job = json.loads(Path("/task/job.json").read_text(encoding="utf-8"))
    page = Page()
    print(UP, flush=True)
    signal.alarm(job["seconds"])  # ends this process: a page that hangs is not waited for
    try:
        runs = [[observe(page, width, job["steps"]) for width in job["widths"]] for _ in range(job["times"])]
    finally:
        page.process.kill()
    print(json.dumps({"nonce": job["nonce"], "runs": runs}))


if __name__ == "__main__":
    main()
