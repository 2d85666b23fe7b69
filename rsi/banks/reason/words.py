"""Letters and strings. Difficulty is the length of the word, or how many letters are asked for."""

import random

from rsi.banks import content
from rsi.banks.instance import Instance, family
from rsi.banks.reason.forms import REASON, number, word

# Of each last letter no more than of others: else one letter is a good guess.
_ENDINGS = [w for n, w in enumerate(content.WORDS) if sum(o[-1] == w[-1] for o in content.WORDS[:n]) < 8]


def _word(rng: random.Random, difficulty: int) -> str:
    longest = (5, 6, 8)[difficulty - 1]
    return rng.choice([item for item in content.WORDS if longest - 1 - difficulty // 2 <= len(item) <= longest])


def _made_up(rng: random.Random, n: int) -> str:
    """A word of `n` letters: the real ones are too much of one length."""
    return "".join(content.words(rng, 1 + n // 3))[:n]


@family(REASON, "first_letter")
def first_letter(rng: random.Random, difficulty: int) -> Instance:
    chosen = content.words(rng, difficulty)
    return word(f"{_what(difficulty, 'first')} of {_quoted(chosen)}?", "".join(item[0] for item in chosen))


@family(REASON, "last_letter")
def last_letter(rng: random.Random, difficulty: int) -> Instance:
    chosen = rng.sample(_ENDINGS, difficulty)
    return word(f"{_what(difficulty, 'last')} of {_quoted(chosen)}?", "".join(item[-1] for item in chosen))


@family(REASON, "count_letters")
def count_letters(rng: random.Random, difficulty: int) -> Instance:
    chosen = _made_up(rng, rng.randint(3, (10, 12, 15)[difficulty - 1]))
    return number(f"How many letters does the word '{chosen}' have?", len(chosen))


@family(REASON, "count_letter")
def count_letter(rng: random.Random, difficulty: int) -> Instance:
    letter, times = rng.choice("aeilnorst"), rng.randint(1, (7, 8, 10)[difficulty - 1])
    others = _made_up(rng, 3 + 2 * difficulty).replace(letter, "")
    letters = [*others, *letter * times]
    rng.shuffle(letters)
    return number(f"How often does the letter '{letter}' occur in '{''.join(letters)}'?", times)


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
