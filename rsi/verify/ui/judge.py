"""Compares what a browser showed with what a check expects. Pure: nothing here runs the component."""

import base64
import json
from collections.abc import Iterator
from urllib.parse import quote

from rsi.types.ui import UiCheck, UiStep
from rsi.verify.ui.drive import WIDTHS, View


def judge(check: UiCheck, views: tuple[View, ...]) -> str:
    """Why the check fails, in one line that names the layer; empty where it passes."""
    if [view.width for view in views] != list(WIDTHS):
        return "renders: not every width was seen"
    for view in views:
        problem = _view_problem(check, view)
        if problem:
            return f"{problem} (at {view.width} px)"
    return ""


def _view_problem(check: UiCheck, view: View) -> str:
    if view.errors:
        return f"renders: {view.errors} uncaught errors"
    if len(view.seen) != len(check.steps):
        return "controls: not every step was taken"
    for step, seen in zip(check.steps, view.seen, strict=True):
        if seen != (step.expected if step.do == "read" else True):
            return f"controls: {_told(step, seen)}"
    if view.widest > view.width:
        return f"overflow: the page is {view.widest} px wide"
    if view.requests:
        return f"constraints: it asked for {view.requests[0][:80]!r}"
    return _model_problem(check, view.to_model)


def _told(step: UiStep, seen: str | bool | None) -> str:
    if step.do != "read":
        return f"{step.at} is not there to {step.do}"
    return f"{step.at} shows {seen!r:.80}, not {step.expected[:80]!r}"


def _model_problem(check: UiCheck, payloads: tuple[str, ...]) -> str:
    heard = "\n".join(text for payload in payloads for text in (payload, _plain(payload)))
    folded = heard.casefold()
    for secret in check.no_ai:
        if any(form.casefold() in folded for form in _forms(secret)):
            return "NoAI: a field marked NoAI reached the model"
    missing = [text for text in check.sent if text not in heard]
    return f"controls: {missing[0][:80]!r} did not reach the model" if missing else ""


def _plain(payload: str) -> str:
    """A payload with its escapes undone, where it is JSON."""
    try:
        return json.dumps(json.loads(payload), ensure_ascii=False)
    except ValueError:
        return payload


def _forms(secret: str) -> Iterator[str]:
    """A secret as it is, reversed, percent-encoded, in hexadecimal, in base64 at each offset, spaced out."""
    raw = secret.encode()
    yield from (secret, secret[::-1], quote(secret), raw.hex(), ",".join(secret), " ".join(secret))
    yield ",".join(map(str, raw))
    for offset in range(3):
        whole = base64.b64encode(b"\0" * offset + raw).decode().rstrip("=")
        yield whole[(0, 2, 3)[offset] : len(whole) - 1]  # the characters that depend on the secret alone
