"""What the entries of a chain must say of each other: a chain that is whole may still tell a history that no gate would
have written, forged by someone who can compute hashes. Pure.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rsi.gate.ledger import KINDS, Entry
from rsi.ids import digest

Content = Mapping[str, Any]
# What reading a body raises that is no record: no JSON, JSON of another shape, numbers and nesting without bound.
DAMAGE = (ValueError, TypeError, AttributeError, KeyError, ArithmeticError, RecursionError)
HITS = ("passes", "flags", "idle", "leaks")  # of a canary entry: any of them is a hit


def breaches(entries: Sequence[Entry]) -> list[str]:
    """One plain line for each thing that the history may not hold, oldest first."""
    history = _History()
    return [f"entry {entry.seq}: {line}" for entry in entries for line in history.read(entry)]


@dataclass
class _History:
    looks: dict[str, Content] = field(default_factory=dict)
    decisions: dict[str, str] = field(default_factory=dict)  # by look
    champions: list[str] = field(default_factory=list)
    promoted: set[str] = field(default_factory=set)  # looks
    asked: dict[str, tuple[Any, Any]] = field(default_factory=dict)  # request -> generation and pair of a candidate
    refused: set[tuple[Any, Any]] = field(default_factory=set)  # by people
    hit: set[Any] = field(default_factory=set)  # generations whose canaries were

    def read(self, entry: Entry) -> Iterator[str]:
        readers = {
            "look": self._look,
            "verdict": self._verdict,
            "promotion": self._promotion,
            "review": self._review,
            "canary": self._canary,
        }
        try:
            content = json.loads(entry.body)
            if entry.kind in readers:
                yield from readers[entry.kind](content)
            elif entry.kind not in KINDS:
                yield f"unknown kind '{entry.kind}'"
        except DAMAGE:
            yield "its body is no record of its kind"

    def _look(self, look: Content) -> Iterator[str]:
        if any(was.get("generation") == look.get("generation") for was in self.looks.values()):
            yield f"a second look in generation {look.get('generation')}"
        if look.get("generation") in self.hit:
            yield f"a look in generation {look.get('generation')}, whose canaries were hit"
        past = [was for was in self.looks.values() if was.get("sealed") == look.get("sealed")]
        allowed = min(was.get("shard_looks", 1) for was in (*past, look))
        if len(past) >= allowed:
            yield f"more than {allowed} looks at one shard"
        yield from overspent(look, list(self.looks.values()))
        self.looks[digest(look)] = look

    def _canary(self, seen: Content) -> Iterator[str]:
        if any(seen.get(name) for name in HITS):
            self.hit.add(seen.get("generation"))
        yield from ()

    def _verdict(self, verdict: Content) -> Iterator[str]:
        name = str(verdict.get("look"))
        if name not in self.looks:
            yield "a verdict on no recorded look"
        if name in self.decisions:
            yield f"a second verdict on look {name[:12]}"
        if verdict.get("decision") == "promote":
            yield from unfounded(verdict, self.looks.get(name, {}))
        self.decisions.setdefault(name, str(verdict.get("decision")))

    def _review(self, review: Content) -> Iterator[str]:
        if review.get("what") == "request":
            self.asked[digest(review)] = (review.get("generation"), review.get("pair"))
        elif review.get("verdict") == "reject" and review.get("request") in self.asked:
            self.refused.add(self.asked[review["request"]])
        yield from ()

    def _promotion(self, step: Content) -> Iterator[str]:
        kind, pair, current = step.get("kind"), str(step.get("pair")), self.champions[-1] if self.champions else None
        if step.get("previous") != current:
            yield f"does not follow champion {str(current)[:12]}"
        if kind == "start" and current is not None:
            yield "starts the lineage a second time"
        elif kind == "promotion":
            yield from self._promoted(str(step.get("look")), pair, current)
        elif kind == "rollback" and (pair not in self.champions or pair == current):
            yield f"rolls back to a pair that {'is champion' if pair == current else 'was never champion'}"
        elif kind not in ("start", "rollback"):
            yield f"unknown step '{kind}'"
        self.champions.append(pair)

    def _promoted(self, name: str, pair: str, current: str | None) -> Iterator[str]:
        look = self.looks.get(name, {})
        if self.decisions.get(name) != "promote":
            yield f"no verdict on look {name[:12]} promotes"
        elif look.get("candidate") != pair:
            yield "the verdict that promotes is of another candidate"
        elif look.get("champion") != current:
            yield "the verdict that promotes was measured against another champion"
        if (look.get("generation"), pair) in self.refused:
            yield "people rejected the candidate that is promoted"
        if name in self.promoted:
            yield f"look {name[:12]} promotes a second time"
        self.promoted.add(name)


def unfounded(verdict: Content, look: Content) -> Iterator[str]:
    """What a verdict that promotes lacks of its evidence: clauses that bind, each of which held, and what they were
    measured on, which is its look's."""
    binding = [clause for clause in verdict.get("clauses", ()) if clause.get("binding") is not False]
    if not binding:
        yield "a verdict that promotes although no clause of the contract binds"
    for clause in binding:
        if clause.get("held") is not True:
            yield f"a verdict that promotes although its clause '{clause.get('name')}' did not hold"
    on = verdict.get("digests", {})
    for name in ("contract", "champion", "candidate", "sealed"):
        if on.get(name) != look.get(name):
            yield f"a verdict that promotes without the {name} of its look"
    if not on.get("attempts"):
        yield "a verdict that promotes and names no attempts"
    drawn, most = verdict.get("batches", (1, 1))
    if not 1 <= drawn <= most:
        yield f"a verdict that promotes after {drawn} of {most} batches"


def overspent(look: Content, past: Sequence[Content]) -> Iterator[str]:
    """How a look breaks the lineage's error budget, given the looks before it. Looks from before there was one state
    none."""
    spent = math.fsum(was.get("alpha", 0.0) for was in past)
    stated, alpha, budget = look.get("spent", 0.0), look.get("alpha", 0.0), look.get("budget", math.inf)
    if not math.isclose(stated, spent, abs_tol=1e-12):
        yield f"says that {stated:g} of the error budget was spent, it was {spent:g}"
    if alpha < 0 or spent + alpha > budget + 1e-12:
        yield f"may spend {alpha:g} after {spent:g}, the lineage's error budget is {budget:g}"
    if budget > (least := min((was["budget"] for was in past if "budget" in was), default=math.inf)):
        yield f"widens the lineage's error budget from {least:g} to {budget:g}"
