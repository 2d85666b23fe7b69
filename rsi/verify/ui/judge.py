"""Compares what a browser showed with what a check expects. Pure: nothing here runs the component."""

import base64
import json
from collections.abc import Iterator, Sequence
from urllib.parse import quote

from rsi.types.ui import UiCheck, UiStep
from rsi.verify.ui.drive import WIDTHS, View

Field = tuple[str | None, ...]  # names that lead to a value; None at the end for the names there


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
    messages = [_parsed(payload) for payload in payloads]
    heard = "\n".join([*payloads, *(json.dumps(message, ensure_ascii=False) for message in messages)])
    folded = "\n".join([heard, *_joined(messages)]).casefold()
    for secret in check.no_ai:
        if any(form.casefold() in folded for form in _forms(secret)):
            return "NoAI: a field marked NoAI reached the model"
    missing = [text for text in check.sent if text not in heard]
    return f"controls: {missing[0][:80]!r} did not reach the model" if missing else ""


def _parsed(payload: str) -> object:
    """A payload's value; itself where it is no JSON."""
    try:
        return json.loads(payload)
    except (ValueError, RecursionError):
        return payload


def _joined(messages: Sequence[object]) -> Iterator[str]:
    """What was told in pieces: all values in the order of the messages, those of each field alone, and the names."""
    told = [piece for message in messages for piece in _pieces(message, ())]
    streams = [[text for field, text in told if None not in field]]
    streams += [[text for at, text in told if at == field] for field in dict.fromkeys(field for field, _ in told)]
    for texts in streams:
        yield from ("".join(texts), ",".join(texts))


def _pieces(value: object, field: Field) -> Iterator[tuple[Field, str]]:
    """Each plain value with the names that lead to it, and each name itself; places in a list are no names."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield ((*field, None), name)
            yield from _pieces(inner, (*field, name))
    elif isinstance(value, list):
        for inner in value:
            yield from _pieces(inner, field)
    else:
        yield (field, str(value))


def _forms(secret: str) -> Iterator[str]:
    """A secret as it is, reversed, percent-encoded, in hexadecimal, in base64 at each offset, spaced out."""
    raw = secret.encode()
    yield from (secret, secret[::-1], quote(secret), raw.hex(), ",".join(secret), " ".join(secret))
    yield ",".join(map(str, raw))
    for offset in range(3):
        whole = base64.b64encode(b"\0" * offset + raw).decode().rstrip("=")
        yield whole[(0, 2, 3)[offset] : len(whole) - 1]  # the characters that depend on the secret alone
