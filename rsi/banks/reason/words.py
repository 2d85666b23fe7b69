"""Letters and strings. Difficulty is the length of the word, or how many letters are asked for."""

import random

from rsi.banks import content
from rsi.banks.instance import Instance, family
from rsi.banks.reason.forms import REASON, number, word


def _word(rng: random.Random, difficulty: int) -> str:
    longest = (5, 6, 8)[difficulty - 1]
    return rng.choice([item for item in content.WORDS if longest - 1 - difficulty // 2 <= len(item) <= longest])


@family(REASON, "first_letter")
def first_letter(rng: random.Random, difficulty: int) -> Instance:
    chosen = content.words(rng, difficulty)
    return word(f"{_what(difficulty, 'first')} of {_quoted(chosen)}?", "".join(item[0] for item in chosen))


@family(REASON, "last_letter")
def last_letter(rng: random.Random, difficulty: int) -> Instance:
    chosen = content.words(rng, difficulty)
    return word(f"{_what(difficulty, 'last')} of {_quoted(chosen)}?", "".join(item[-1] for item in chosen))


@family(REASON, "count_letters")
def count_letters(rng: random.Random, difficulty: int) -> Instance:
    chosen = _word(rng, difficulty)
    return number(f"How many letters does the word '{chosen}' have?", len(chosen))


@family(REASON, "count_letter")
def count_letter(rng: random.Random, difficulty: int) -> Instance:
    chosen = _word(rng, difficulty)
    letter = rng.choice(chosen)
    return number(f"How often does the letter '{letter}' occur in '{chosen}'?", chosen.count(letter))


@family(REASON, "capitals")
def capitals(rng: random.Random, difficulty: int) -> Instance:
    chosen = " ".join(content.words(rng, difficulty))
    return word(f"Write '{chosen}' in capital letters.", chosen.upper())


@family(REASON, "backwards")
def backwards(rng: random.Random, difficulty: int) -> Instance:
    chosen = _word(rng, difficulty)
    return word(f"Write '{chosen}' backwards.", chosen[::-1])


@family(REASON, "join_words")
def join_words(rng: random.Random, difficulty: int) -> Instance:
    chosen = content.words(rng, 1 + difficulty)
    return word(f"Join the words {_quoted(chosen)} with hyphens.", "-".join(chosen))


@family(REASON, "drop_last_letter")
def drop_last_letter(rng: random.Random, difficulty: int) -> Instance:
    chosen = rng.choice(content.WORDS)
    return word(f"Write '{chosen}' without its last {_letters(difficulty)}.", chosen[:-difficulty])


def _what(n: int, which: str) -> str:
    return f"What is the {which} letter" if n == 1 else f"What are the {which} letters, written together,"


def _letters(n: int) -> str:
    return "letter" if n == 1 else f"{n} letters"


def _quoted(chosen: list[str]) -> str:
    return " and ".join(f"'{item}'" for item in chosen)
