"""Chromium over a pipe: commands, and the events that count. A page that floods, asks or hangs cannot keep it."""

import json
import os
import select
import subprocess
import time
from typing import Any

BROWSER = "/usr/lib/chromium/chromium"
NETWORK_LOG = "/tmp/network.json"
# Chromium's own sandbox needs user namespaces, which ours refuses; ours is the one that holds. Without a limit of
# frames a screenshot takes 20 ms instead of 45.
FLAGS = (
    "--headless --no-startup-window --no-sandbox --no-zygote --disable-gpu --disable-dev-shm-usage --no-first-run "
    "--disable-extensions --disable-background-networking --remote-debugging-pipe --user-data-dir=/tmp/profile "
    "--disable-gpu-vsync --disable-frame-rate-limit "
    f"--log-net-log={NETWORK_LOG} --net-log-max-size-mb=10 "
    # Each process costs 0.3 s to start, and what watches a page must be in its frames too.
    "--disable-features=IsolateSandboxedIframes,SpareRendererForSitePerProcess,PreloadTopChromeWebUI"
)
WAIT = 8.0  # seconds for an answer
DIALOGS = 20  # that are answered
KEPT = {  # events that count, and how many characters of each kind are kept
    "Page.loadEventFired": 10_000,
    "Page.windowOpen": 10_000,
    "Page.frameRequestedNavigation": 10_000,
    "Network.requestWillBeSent": 100_000,
    "Network.webSocketCreated": 10_000,
    "Network.webTransportCreated": 10_000,
    "Preload.ruleSetUpdated": 10_000,
    "Runtime.bindingCalled": 300_000,
    "Runtime.exceptionThrown": 10_000,
    "Emulation.virtualTimeBudgetExpired": 10_000,
}


class PageError(Exception):
    """The page's fault: why it cannot be driven, in one line."""


class Browser:
    """One process. `heard` are the (method, params) of events of the tab in use, in order; those beyond what is KEPT
    are dropped. `session` addresses commands to a tab; the browser itself where it is empty."""

    def __init__(self) -> None:
        mine_in, self._out = os.pipe()
        self._in, mine_out = os.pipe()
        shell = ["bash", "-c", f"exec {BROWSER} {FLAGS} 3<&{mine_in} 4>&{mine_out}"]
        self.process = subprocess.Popen(
            shell, pass_fds=(mine_in, mine_out), stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
        )
        os.close(mine_in)
        os.close(mine_out)
        self._rest, self._n, self._dialogs = bytearray(), 0, 0
        self._left = dict(KEPT)
        self.session = ""
        self.heard: list[tuple[str, Any]] = []

    def forget(self) -> None:
        """Begin anew with what is heard."""
        self.heard.clear()
        self._left, self._dialogs = dict(KEPT), 0

    def send(self, method: str, **params: Any) -> Any:
        """The command's result. PageError where it fails or takes too long."""
        number, end = self._write(method, params), time.monotonic() + WAIT
        while True:
            reply = self._next(end)
            if reply.get("id") == number:
                if "error" in reply:
                    if "context" in reply["error"].get("message", ""):
                        raise PageError("the page goes elsewhere")
                    raise PageError(f"{method}: {reply['error'].get('message', '')[:80]}")
                return reply["result"]
            self._hear(reply)

    def close(self) -> None:
        """End it in its own time, so that the network log is whole."""
        self.session = ""
        self._write("Browser.close", {})
        try:
            self.process.wait(WAIT)
        except subprocess.TimeoutExpired:
            raise PageError("the browser does not end") from None

    def _write(self, method: str, params: dict[str, Any]) -> int:
        self._n += 1
        message = {"id": self._n, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        return self._n

    def _hear(self, event: Any) -> None:
        method, params = event.get("method", ""), event.get("params", {})
        if method == "Inspector.targetCrashed":
            raise PageError("the page ended")
        if method == "Page.javascriptDialogOpening":
            self._dialogs += 1
            if self._dialogs > DIALOGS:
                raise PageError("the page opens dialog after dialog")
            self._write("Page.handleJavaScriptDialog", {"accept": True})
        if method in KEPT and event.get("sessionId") == self.session:
            size = len(json.dumps(params)) if self._left[method] > 0 else 0
            if size:
                self._left[method] -= size
                self.heard.append((method, params))

    def _next(self, end: float) -> Any:
        while (at := self._rest.find(b"\0")) < 0:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self._in], [], [], left)[0]:
                raise PageError("the page hangs")
            more = os.read(self._in, 1 << 20)
            if not more:
                raise PageError("the browser ended")
            self._rest += more
        if time.monotonic() > end:
            raise PageError("the page hangs")
        first = bytes(self._rest[:at])
        del self._rest[: at + 1]
        return json.loads(first)
