"""Reads /task/job.json ({"nonce", "widths", "steps", "times", "seconds"}). Prints UP once the browser is up, when no
code of the component has run yet, then one line of JSON: what was observed. Ends with 1 where the page is at fault."""

import json
import re
import signal
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rsi.verify.ui.inside.browser import NETWORK_LOG, Browser, PageError
from rsi.verify.ui.inside.page import MOST, Page

UP = "the browser is up"
_ASKED = re.compile(r'"(?:host|url)":"((?:[^"\\]|\\.)*)"')


def observe(page: Page, width: int, steps: Sequence[dict[str, str]]) -> dict[str, Any]:
    page.load(width)
    first, seen = page.bounds(), list(page.do(steps))
    middle = page.bounds()
    page.settle()
    bounds = [first, middle, page.bounds()]
    return {
        "width": width,
        "leftmost": min(left for left, _ in bounds),
        "widest": max(right for _, right in bounds),
        "seen": seen,
        "to_model": page.to_model(),
        "requests": page.requests(),
        "errors": page.errors(),
    }


def read_network_log(lines: Iterator[str]) -> list[str]:
    """What pages of this folder asked the network for by any way, seen from below: the browser's own are left out."""
    asked = [_ASKED.search(line) for line in lines if '"network_anonymization_key":"file://' in line]
    return list(dict.fromkeys(found[1][:200] for found in asked if found))[:MOST]


def main() -> None:
    job = json.loads(Path("/task/job.json").read_text(encoding="utf-8"))
    browser = Browser()
    try:
        browser.send("Browser.getVersion")
        print(UP, flush=True)
        signal.alarm(job["seconds"])  # ends this process: a page that hangs is not waited for
        page = Page(browser)
        runs = [[observe(page, width, job["steps"]) for width in job["widths"]] for _ in range(job["times"])]
        browser.close()
        with Path(NETWORK_LOG).open(encoding="utf-8", errors="replace") as lines:
            asked = read_network_log(lines)
        print(json.dumps({"nonce": job["nonce"], "runs": runs, "asked": asked}))
    except PageError as error:
        sys.exit(str(error))
    finally:
        browser.process.kill()
