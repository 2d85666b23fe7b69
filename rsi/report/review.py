"""A question to people, in plain text. What models and documents wrote is hostile: it is escaped and bounded."""

import json
import time
from collections.abc import Iterator

from pydantic import JsonValue

from rsi.types import Attempt, Filed, Record, ReviewDecision, ReviewRequest

TURNS, CHARS = 6, 600  # of a trajectory: turns that are shown, characters of each text


class Changed(Record):
    """One difference of the document; None where a key stands on one side only."""

    risk: str
    key: str
    before: JsonValue
    after: JsonValue


class Flip(Record):
    """A task of an open split that failed without the change and passed with it, with a trajectory of each."""

    task: str
    family: str
    without: str
    with_it: str


class Case(Record):
    """A request with what a reviewer needs to decide. `id` is the request's digest; `needed`: different approvers."""

    id: str
    request: ReviewRequest
    standing: str
    asked: float  # seconds since the epoch
    needed: int
    decisions: tuple[Filed[ReviewDecision], ...] = ()
    differences: tuple[Changed, ...] = ()
    evidence: tuple[str, ...] = ()
    flips: tuple[Flip, ...] = ()


def line(case: Case) -> str:
    """The request in one line."""
    request = case.request
    what = f"generation {request.generation}  {request.kind:9}  {', '.join(request.classes)}"
    return f"{case.id[:12]}  {case.standing:8}  {what}  {plain(request.name)}"


def page(case: Case) -> str:
    """Everything about a request: decisions, differences by risk class with those that wait first, evidence, flips."""
    return "\n".join(_page(case))


def _page(case: Case) -> Iterator[str]:
    yield line(case)
    yield f"asked {_when(case.asked)}; {case.needed} different people must approve"
    for filed in case.decisions:
        made = filed.record
        yield f"{made.verdict} by {plain(made.reviewer)}, {_when(filed.at)}: {plain(made.reason) or 'no reason given'}"
    waiting = case.request.classes
    for risk in sorted({item.risk for item in case.differences}, key=lambda name: (name not in waiting, name)):
        yield f"\n{risk}{' (waits for people)' if risk in waiting else ''}"
        for item in case.differences:
            if item.risk == risk:
                yield from _changed(item)
    yield "\nevidence"
    yield from (f"  {plain(item)}" for item in case.evidence)
    for flip in case.flips:
        yield f"\ntask {flip.task[:12]} of family {plain(flip.family)}: failed without, passed with the change"
        yield from _block("without", flip.without)
        yield from _block("with", flip.with_it)


def _changed(item: Changed) -> Iterator[str]:
    for sign, value in (("-", item.before), ("+", item.after)):
        if isinstance(value, str) and "\n" in value:
            yield f"  {sign} {plain(item.key)} ="
            yield from _block(f"  {sign}", value)
        elif value is not None:
            yield f"  {sign} {plain(item.key)} = {json.dumps(value)}"


def _block(label: str, text: str) -> Iterator[str]:
    yield from (f"  {label} | {plain(part)}" for part in text.split("\n"))


def trajectory(attempt: Attempt) -> str:
    """What the model wrote and was told, bounded."""
    texts = [("model", turn.completion.text, turn.observation) for turn in attempt.turns[:TURNS]]
    lines = [part for name, text, seen in texts for part in (f"{name}: {_cut(text)}", seen and f"told: {_cut(seen)}")]
    if len(attempt.turns) > TURNS:
        lines.append(f"({len(attempt.turns) - TURNS} more turns)")
    return "\n".join([*(part for part in lines if part), f"output: {_cut(attempt.output)}"])


def _cut(text: str) -> str:
    return text if len(text) <= CHARS else f"{text[:CHARS]} ({len(text) - CHARS} more characters)"


def plain(text: str) -> str:
    """One line of ASCII: everything else is shown by its escape, so that it can neither steer a terminal nor look like
    something that it is not."""
    return "".join(c if " " <= c <= "~" else c.encode("unicode_escape").decode() for c in text)


def _when(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(seconds))
