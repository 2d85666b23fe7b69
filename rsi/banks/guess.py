"""How much a family pays for answering without working: always the same, or with a part of what the user says.

Pure arithmetic over drafted instances. It knows no model and no verifier; a guess is compared as checks compare.
"""

import functools
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from rsi.banks.instance import Instance, as_it_was
from rsi.figures import wilson
from rsi.types import Check, FileCheck, OutputCheck, Rate

LIMIT = 0.2  # of tasks (of a conversation: of its reward) that a guess may earn
MARGIN = 0.1  # beyond an even chance, where bank.toml says that there are only so many `choices`
FEW, MANY = 80, 400  # instances: MANY where FEW do not settle it
_WORD = re.compile(r"[^\s,;:.?!()\"']+")
_QUOTED = re.compile(r"'([^']*)'|\"([^\"]*)\"")

Turn = tuple[str, tuple[Check, ...]]  # what the user says, and what the answer must meet
Rule = Callable[[str], str]


@dataclass(frozen=True)
class Guess:
    """The best answer of its kind: what it is, and the share that it earns. It is chosen on other instances than it is
    measured on, so that the best of many is no overestimate; on all where there are only so many."""

    kind: str
    answer: str
    rate: Rate

    def __str__(self) -> str:
        rate = self.rate
        return f"{self.kind} {self.answer[:40]!r}: {rate.value:.0%} [{rate.low:.0%}, {rate.high:.0%}] n={rate.n}"


def guess(instances: Sequence[Instance], are_all: bool = False) -> tuple[Guess, Guess]:
    """The best constant and the best copy."""
    turns = [_turns(instance) for instance in instances]
    half = len(turns) // 2
    tried, held = (turns, turns) if are_all else (turns[:half], turns[half:])
    tally = Counter[str]()
    for one in tried:
        for _, checks in one:
            tally[_answer(checks)] += 1
    constant = max(tally, key=lambda answer: (tally[answer], answer), default="")
    shares = {name: sum(_earned(rule, one) for one in tried) for name, rule in RULES.items()}
    copied = max(shares, key=lambda name: shares[name])
    return (
        Guess("the constant answer", constant, _rate([_constant(constant, one) for one in held])),
        Guess("a copy", copied, _rate([_earned(RULES[copied], one) for one in held])),
    )


def measure(draft: Callable[[int], Sequence[Instance]], choices: int | None) -> tuple[tuple[Guess, Guess], str]:
    """Both guesses over what `draft(n)` gives, and why the family is refused: empty where they stay in bounds."""
    limit = LIMIT if choices is None else max(LIMIT, 1 / choices + MARGIN)
    both = guess(draft(FEW))
    if any(one.rate.value > limit / 2 for one in both):
        both = guess(many := draft(MANY), len(many) < MANY)
    told = (f"{one} passes, more than {limit:.0%}" for one in both if one.rate.value > limit)
    return both, "; ".join(told)


def _rate(earned: Sequence[float]) -> Rate:
    return wilson(round(sum(earned)), len(earned))


def _turns(instance: Instance) -> list[Turn]:
    """The scored ones; of their checks those that idleness does not meet."""
    said = (instance.request, *instance.user_turns)
    checks = instance.turn_checks or (instance.checks,)
    live = [tuple(c for c in some if not as_it_was(c, instance)) for some in checks]
    return [(text, some) for text, some in zip(said, live, strict=True) if some]


def _answer(checks: Sequence[Check]) -> str:
    """What the checks ask for, so that equal answers are equal texts: one text, or all of it where it is more. The name
    of a file that is asked for does not count, since one may write them all."""
    asked = {_asked(check) for check in checks}
    return asked.pop() if len(asked) == 1 else "\n".join(sorted(asked))


def _asked(check: Check) -> str:
    if isinstance(check, OutputCheck):
        return _normal(check.expected, check.mode)
    if isinstance(check, FileCheck) and check.content is not None and check.mode is None:
        return _normal(check.content)
    return check.model_dump_json()


def _normal(text: str, mode: str = "exact") -> str:
    lines = [line.rstrip() for line in text.strip().splitlines()]
    if mode == "numeric":
        try:
            return f"{float(text):.12g}"
        except ValueError:
            return text.strip()
    return "\n".join(sorted(lines) if mode == "lines" else lines)


def _constant(answer: str, turns: Sequence[Turn]) -> float:
    return sum(_answer(checks) == answer for _, checks in turns) / max(1, len(turns))


def _earned(rule: Rule, turns: Sequence[Turn]) -> float:
    return sum(_meets(rule(text), checks) for text, checks in turns) / max(1, len(turns))


def _meets(copied: str, checks: Sequence[Check]) -> bool:
    """Of outputs alone: what asks for a file asks for work."""
    return bool(copied) and all(
        isinstance(check, OutputCheck) and _asked(check) == _normal(copied, check.mode) for check in checks
    )


def _rules() -> Iterator[tuple[str, Rule]]:
    yield "all of it", str
    for at in (*range(12), *range(-12, 0)):
        yield f"word {at + 1 if at >= 0 else at}", functools.partial(_part, _WORD.findall, at)
    for at in (0, 1, 2, -1):
        yield f"quote {at + 1 if at >= 0 else at}", functools.partial(_part, _quotes, at)
        yield f"line {at + 1 if at >= 0 else at}", functools.partial(_part, str.splitlines, at)


def _quotes(text: str) -> list[str]:
    return [one or other for one, other in _QUOTED.findall(text)]


def _part(split: Callable[[str], list[str]], at: int, text: str) -> str:
    parts = split(text)
    return parts[at] if -len(parts) <= at < len(parts) else ""


RULES: Mapping[str, Rule] = dict(_rules())
