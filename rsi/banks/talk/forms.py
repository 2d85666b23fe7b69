"""The shape of every conversation: 40 user messages. Things are told in the first thirty, the earlier the more of them;
the last ten only ask. Between them stand questions that need nothing of the conversation. What is told is to be noted;
that is not scored, since one always knows what to say."""

import json
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from rsi.banks.instance import Instance, Table
from rsi.types import OutputCheck

TALK: Table = {}
TURNS = 40
PASS_SHARE = 0.85
NOTED = "noted"
_OPENING = "Reply noted to what I tell you, and answer my questions in as few words as you can."


@dataclass(frozen=True)
class Told:
    """What the user says, and what holds after it: questions with their answers, and how answers are written."""

    text: str
    answers: Mapping[str, str]
    written: Callable[[str], str] = str


def told_count(difficulty: int) -> int:
    return 9 + 3 * difficulty


def conversation(rng: random.Random, told: Sequence[Told], opening: str = _OPENING) -> Instance:
    """`told` in its order, with questions after each that its state answers. At most 18 things can be told."""
    places = _places(rng, len(told))
    said: list[tuple[str, str]] = []
    asked: Counter[str] = Counter()
    now = told[0]
    for turn in range(TURNS):
        if turn in places:
            now = told[places.index(turn)]
            said.append((now.text, NOTED))
        elif turn < 30 and rng.random() < 0.4:
            said.append(_aside(rng, now.written))
        else:
            question = min(sorted(now.answers), key=lambda question: (asked[question], rng.random()))
            asked[question] += 1
            said.append((question, now.written(now.answers[question])))
    texts, answers = [text for text, _ in said], [answer for _, answer in said]
    return Instance(
        request=f"{opening} {texts[0]}",
        reference=json.dumps(answers),
        checks=(),
        user_turns=tuple(texts[1:]),
        turn_checks=tuple(
            () if turn in places else (OutputCheck(expected=answer),) for turn, answer in enumerate(answers)
        ),
        pass_share=PASS_SHARE,
    )


def _places(rng: random.Random, n: int) -> list[int]:
    """The turns in which something is told: half of it in the first ten, two thirds of the rest in the next ten."""
    first = (n + 1) // 2
    second = (n - first + 1) * 2 // 3
    shares = ((range(1, 10), first - 1), (range(10, 20), second), (range(20, 30), n - first - second))
    return [0, *(place for turns, share in shares for place in sorted(rng.sample(turns, share)))]


def _aside(rng: random.Random, written: Callable[[str], str]) -> tuple[str, str]:
    a, b = rng.randint(2, 60), rng.randint(2, 30)
    return f"What is {a} plus {b}?", written(str(a + b))
