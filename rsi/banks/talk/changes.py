"""What is told and changes later: preferences, corrections, names, leaders, owners."""

import random

from rsi.banks import content
from rsi.banks.instance import Instance, family
from rsi.banks.talk.facts import people
from rsi.banks.talk.forms import TALK, Told, conversation, told_count


@family(TALK, "preferences")
def preferences(rng: random.Random, difficulty: int) -> Instance:
    n = told_count(difficulty)
    told, answers, who = [], dict[str, str](), people(rng, n - 2 - difficulty)
    for place, thing in enumerate(content.words(rng, n)):
        name, now = (who[place], "") if place < len(who) else (rng.choice(who), "now ")
        answers = {**answers, f"What does {name} like best?": thing}
        told.append(Told(f"{name} {now}likes {thing} best.", answers))
    return conversation(rng, told)


@family(TALK, "corrections")
def corrections(rng: random.Random, difficulty: int) -> Instance:
    n = told_count(difficulty)
    told, answers, who = [], dict[str, str](), people(rng, n - 2 - difficulty)
    for place, number in enumerate(rng.sample(range(10, 1000), n)):
        name, lead = (who[place], "") if place < len(who) else (rng.choice(who), "I was wrong: ")
        answers = {**answers, f"Which number has {name}?": str(number)}
        told.append(Told(f"{lead}{name} has number {number}.", answers))
    return conversation(rng, told)


@family(TALK, "renamed")
def renamed(rng: random.Random, difficulty: int) -> Instance:
    n = told_count(difficulty)
    words = content.words(rng, n)
    who = people(rng, n - 3 - difficulty)
    leaders = dict(zip(words[: len(who)], who, strict=True))  # current name of a project -> who leads it
    told, known = [], dict[str, str]()
    for project, leader in leaders.items():
        known = {**known, project: leader}
        told.append(Told(f"{leader} leads project {project}.", _leads(known)))
    for new in words[len(who) :]:
        old = rng.choice(sorted(known))
        known = {name: leader for name, leader in known.items() if name != old} | {new: known[old]}
        told.append(Told(f"Project {old} is now called {new}.", _leads(known)))
    return conversation(rng, told)


def _leads(known: dict[str, str]) -> dict[str, str]:
    return {f"Who leads project {name}?": leader for name, leader in known.items()}


@family(TALK, "owners")
def owners(rng: random.Random, difficulty: int) -> Instance:
    n = told_count(difficulty)
    who, things = people(rng, 6), content.words(rng, n - 3 - difficulty)
    told, has = [], dict[str, str]()
    for thing in things:
        has = {**has, thing: rng.choice(who)}
        told.append(Told(f"{has[thing]} has the {thing} card.", _has(has)))
    while len(told) < n:
        thing = rng.choice(things)
        giver, taker = has[thing], rng.choice([name for name in who if name != has[thing]])
        has = {**has, thing: taker}
        told.append(Told(f"{giver} gives the {thing} card to {taker}.", _has(has)))
    return conversation(rng, told)


def _has(has: dict[str, str]) -> dict[str, str]:
    return {f"Who has the {thing} card?": name for thing, name in has.items()}
