"""Compares what a browser showed with what a check expects. Pure: nothing here runs the component."""

import json

from rsi.text import clean, parse_json
from rsi.types.ui import UiCheck, UiStep
from rsi.verify.ui.disguise import is_told
from rsi.verify.ui.drive import WIDTHS, View

TOLD = 20_000  # characters that a component may tell the model


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
    if view.leftmost < 0:
        return f"overflow: the page begins {-view.leftmost} px left of its edge"
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
    if sum(map(len, payloads)) > TOLD:
        return f"constraints: it told the model more than {TOLD} characters"
    messages = [_parsed(payload) for payload in payloads]
    if any(is_told(secret, messages) for secret in check.no_ai):
        return "NoAI: a field marked NoAI reached the model"
    heard = "\n".join([*payloads, *(json.dumps(message, ensure_ascii=False) for message in messages)])
    missing = [text for text in check.sent if text not in heard]
    return f"controls: {missing[0][:80]!r} did not reach the model" if missing else ""


def _parsed(payload: str) -> object:
    """A payload's value; itself where it is no JSON."""
    try:
        return parse_json(payload)
    except ValueError:
        return clean(payload)
