"""What is told once and asked late: facts, places, and wishes for how to answer."""

import random

from rsi.banks import content
from rsi.banks.instance import Instance, family
from rsi.banks.talk.forms import TALK, Told, conversation, told_count

_COLOURS = ("red", "blue", "green", "white", "black", "brown", "pink", "grey", "orange", "purple", "golden", "silver")
_STYLES = (
    ("in capital letters", str.upper),
    ("with an exclamation mark at the end", lambda text: f"{text}!"),
    ("in brackets", lambda text: f"({text})"),
    ("with the word indeed before the answer", lambda text: f"indeed {text}"),
)


def people(rng: random.Random, n: int) -> list[str]:
    return [name.capitalize() for name in rng.sample(content.NAMES, n)]


@family(TALK, "boxes")
def boxes(rng: random.Random, difficulty: int) -> Instance:
    n = told_count(difficulty)
    names = [f"{colour} {kind}" for kind in ("box", "bag") for colour in _COLOURS]
    told, answers = [], dict[str, str]()
    for name, thing in zip(rng.sample(names, n), content.words(rng, n), strict=True):
        answers = {**answers, f"What does the {name} hold?": thing}
        told.append(Told(f"The {name} holds {thing}.", answers))
    return conversation(rng, told)


@family(TALK, "places")
def places(rng: random.Random, difficulty: int) -> Instance:
    told, answers, who = [], dict[str, str](), people(rng, 3 + difficulty)
    for n, place in enumerate(content.words(rng, told_count(difficulty))):
        name = who[n] if n < len(who) else rng.choice(who)
        answers = {**answers, f"Where is {name}?": place}
        told.append(Told(f"{name} goes to the {place} place.", answers))
    return conversation(rng, told)


@family(TALK, "wishes")
def wishes(rng: random.Random, difficulty: int) -> Instance:
    """Standing instructions: the latest wish for how to answer holds for all questions after it."""
    told, answers = [], dict[str, str]()
    n = told_count(difficulty)
    changes = {1, *rng.sample(range(3, n), difficulty)}
    who, things = people(rng, n - len(changes)), content.words(rng, n)
    style = _STYLES[0]
    for place in range(n):
        if place in changes:
            style = rng.choice([other for other in _STYLES if other is not style or place == 1])
            told.append(Told(f"From now on answer my questions {style[0]}.", answers, style[1]))
            continue
        name = who.pop()
        answers = {**answers, f"What does {name} keep?": things[place]}
        told.append(Told(f"{name} keeps {things[place]}.", answers, style[1] if place else str))
    opening = "Reply noted to what I tell you. Answer my questions briefly; only my latest wish for their form holds."
    return conversation(rng, told, opening)
