"""Order: days, months, alphabets, positions."""

import calendar
import random

from rsi.banks import content
from rsi.banks.instance import Instance, family
from rsi.banks.reason.forms import REASON, number, word

DAYS = tuple(calendar.day_name)
MONTHS = tuple(calendar.month_name)[1:]


@family(REASON, "day_after")
def day_after(rng: random.Random, difficulty: int) -> Instance:
    start = rng.randrange(7)
    ahead = rng.choice([n for n in range(1, (9, 15, 31)[difficulty - 1]) if n % 7])  # today is never the answer
    return word(f"Today is {DAYS[start]}. Which day is it {_days(ahead)} later?", DAYS[(start + ahead) % 7])


@family(REASON, "month_before")
def month_before(rng: random.Random, difficulty: int) -> Instance:
    start, back = rng.randrange(12), rng.randint(1, (5, 8, 11)[difficulty - 1])
    unit = "month" if back == 1 else "months"
    return word(f"It is {MONTHS[start]}. Which month was it {back} {unit} ago?", MONTHS[(start - back) % 12])


@family(REASON, "day_of_month")
def day_of_month(rng: random.Random, difficulty: int) -> Instance:
    month = rng.choice(MONTHS)
    start, ahead = rng.randint(1, 18), rng.randint(1, (3, 6, 10)[difficulty - 1])  # never beyond the 28th
    return number(f"It is {month} {start}. Which day of {month} is it {_days(ahead)} later?", start + ahead)


@family(REASON, "first_in_alphabet")
def first_in_alphabet(rng: random.Random, difficulty: int) -> Instance:
    chosen = content.words(rng, 6 + difficulty)
    return word(f"Which word comes first in the alphabet: {', '.join(chosen)}?", min(chosen))


@family(REASON, "last_of_list")
def last_of_list(rng: random.Random, difficulty: int) -> Instance:
    chosen = content.words(rng, rng.randint(3, 3 + difficulty))
    return word(_in_list(rng, chosen, "last"), chosen[-1])


@family(REASON, "first_of_list")
def first_of_list(rng: random.Random, difficulty: int) -> Instance:
    chosen = content.words(rng, rng.randint(3, 3 + difficulty))
    return word(_in_list(rng, chosen, "first"), chosen[0])


@family(REASON, "count_list")
def count_list(rng: random.Random, difficulty: int) -> Instance:
    chosen = content.words(rng, rng.randint(2, (9, 11, 14)[difficulty - 1]))
    return number(f"How many words are in this list: {', '.join(chosen)}?", len(chosen))


def _in_list(rng: random.Random, chosen: list[str], which: str) -> str:
    """The question in one of seven forms: the place of the answer in the text tells nothing."""
    listed, asks = ", ".join(chosen), f"hich word is the {which} of this list"
    forms = (
        f"W{asks}: {listed}?",
        f"{listed}: w{asks}?",
        f"Look: {listed}. W{asks}, please?",
        f"Tell me, w{asks}: {listed}, and nothing else?",
        f"I wrote a list: {listed}. Now tell me w{asks}.",
        f"Now in {listed}, as you see it written here, w{asks}?",
        f"Say w{asks}: {listed}, dear friend?",
    )
    return rng.choice(forms)


def _days(n: int) -> str:
    return "1 day" if n == 1 else f"{n} days"
