"""From component code to what a browser showed of it. The code is hostile: it is compiled and run in a sandbox only."""

import json
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path

from rsi.errors import InfrastructureError
from rsi.ports import ExecResult, SandboxProvider
from rsi.text import parse_json
from rsi.types.record import Record
from rsi.verify.ui.inside.main import UP

WIDTHS = (360, 1024)  # pixels
COMPILE_SECONDS, START_SECONDS = 10.0, 40.0
REPORT = 1_000_000  # characters of a report that are read
DRIVE_SECONDS = 30  # a run, once the browser is up
_H = (
    "function h(t,p,...c){const e=document.createElement(t);for(const k in p||{}){k.startsWith('on')?"
    "e.addEventListener(k.slice(2).toLowerCase(),p[k]):e.setAttribute(k,p[k])}e.append(...c.flat());return e}"
)
_ENTRY = (
    'import mount from "./component.tsx";\n'
    "const host = { state: {}, toModel: (fields) => globalThis.__toModel(JSON.stringify(fields)) };\n"
    'mount(document.getElementById("root"), host);\n'
)
# Animations end at once, from their start; a blinking caret is no text; scrolling takes no time.
_STEADY = (
    "*,*::before,*::after{transition-duration:1ms!important;transition-delay:0s!important;"
    "animation-duration:1ms!important;animation-delay:0s!important;animation-iteration-count:1!important;"
    "caret-color:transparent!important;scroll-behavior:auto!important}"
)
_PAGE = (
    f'<!doctype html><meta charset="utf-8"><style>{_STEADY}</style><body><div id="root"></div>'
    '<script src="page.js"></script></body>'
)
_COMPILE = (
    "chmod +x esbuild && ./esbuild entry.tsx --bundle --format=iife --outfile=page.js --jsx-factory=h "
    '--log-level=error --banner:js="$(cat h.js)"'
)


class View(Record):
    """One width. `seen` has one entry a step: text or None for a read, else whether the target could be used."""

    width: int
    leftmost: int
    widest: int
    seen: tuple[str | bool | None, ...]
    to_model: tuple[str, ...]
    requests: tuple[str, ...]
    errors: int


Views = tuple[View, ...]  # of one run, one a width


class Observed(Record):
    nonce: str
    runs: tuple[Views, ...]
    asked: tuple[str, ...]  # of the network, in all runs together


async def drive(
    provider: SandboxProvider, esbuild: bytes, code: str, steps: Sequence[Mapping[str, str]], times: int = 1
) -> tuple[Views, ...] | str:
    """What was observed in each of `times` runs, or why nothing was, in one line. All runs share one browser of this
    call's own; each view has a tab of its own. `provider` needs limits fit for a browser.

    Raises InfrastructureError where the sandbox breaks or the browser does not start: neither is the code's doing."""
    texts = {"component.tsx": code, "entry.tsx": _ENTRY, "page.html": _PAGE, "h.js": _H}
    sandbox = await provider.open()
    try:
        await sandbox.put({"esbuild": esbuild, **{name: text.encode() for name, text in texts.items()}})
        built = await sandbox.exec(_COMPILE, COMPILE_SECONDS)
        if built.exit_code != 0:
            return f"does not compile: {built.stderr.strip()[:200]!r}"
        # Only now: what is put before the compiler runs could be imported by the component.
        nonce = secrets.token_hex(16)
        seconds = DRIVE_SECONDS * times
        job = {"nonce": nonce, "widths": WIDTHS, "steps": [dict(step) for step in steps], "times": times}
        await sandbox.put({"job.json": json.dumps({**job, "seconds": seconds}).encode(), **_driver()})
        ran = await sandbox.exec("HOME=/tmp python3 -I driver", START_SECONDS + seconds, REPORT)
    finally:
        await sandbox.close()
    return _observed(ran, nonce)


def _driver() -> dict[str, bytes]:
    """The room rsi.verify.ui.inside and what starts it, as a folder that Python runs."""
    room = Path(__file__).with_name("inside")
    files = {f"driver/rsi/verify/ui/inside/{path.name}": path.read_bytes() for path in room.glob("*.py")}
    return {"driver/__main__.py": b"from rsi.verify.ui.inside.main import main\n\nmain()\n", **files}


def _observed(ran: ExecResult, nonce: str) -> tuple[Views, ...] | str:
    up, _, report = ran.stdout.partition("\n")
    if up != UP:
        raise InfrastructureError(f"the browser did not start: {ran.stderr.strip()[-160:]!r}")
    if ran.timed_out or ran.exit_code != 0:
        return f"could not be driven: {ran.stderr.strip()[-160:] or 'the page hangs'!r}"
    try:
        observed = Observed.model_validate(parse_json(report))
    except ValueError:  # pydantic's errors are such too
        return "could not be driven: the driver's report is malformed"
    if not secrets.compare_digest(observed.nonce, nonce):
        return "the driver's report is forged"
    return tuple(tuple(_with_asked(view, observed.asked) for view in views) for views in observed.runs)


def _with_asked(view: View, asked: tuple[str, ...]) -> View:
    return view.model_copy(update={"requests": (*view.requests, *asked)})
