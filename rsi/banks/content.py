"""Pools from which generators fill their slots. Exemplars use other names, so a copied exemplar never fits a task."""

import random
from collections.abc import Sequence

_WORDS = """
apple banana cherry grape lemon mango orange peach pear plum kiwi melon olive onion carrot potato tomato pepper bread
butter cheese honey sugar coffee milk water juice table chair window door garden kitchen ladder hammer bottle basket
candle mirror pillow blanket pencil paper button pocket jacket shirt ribbon river forest mountain valley island desert
meadow ocean bridge castle tower village market station rabbit tiger lion horse sheep goat mouse otter eagle robin
falcon salmon dolphin turtle spider beetle winter summer autumn spring morning evening silver golden purple yellow
green brown black white violet copper planet comet rocket signal engine wheel
"""
_NAMES = "anna ben carla david emma frank grace henry irene jack karen liam maria nina oscar"
_STEMS = "notes list data items log report todo plan draft input stock menu trip index table news diary score"
_FOLDERS = "docs backup archive photos work home store inbox"

WORDS = tuple(_WORDS.split())
NAMES = tuple(_NAMES.split())
STEMS = tuple(_STEMS.split())
FOLDERS = tuple(_FOLDERS.split())


def words(rng: random.Random, n: int) -> list[str]:
    """`n` different words."""
    return rng.sample(WORDS, n)


def unsorted(rng: random.Random, items: Sequence[str]) -> list[str]:
    """The items in an order that is neither ascending nor descending (at least three different ones)."""
    order = list(items)
    while order in (sorted(items), sorted(items, reverse=True)):
        rng.shuffle(order)
    return order


def names(rng: random.Random, n: int, suffix: str = ".txt") -> list[str]:
    """`n` different file names."""
    return [stem + suffix for stem in rng.sample(STEMS, n)]


def size(rng: random.Random, difficulty: int) -> int:
    """How many lines a file has: 3-4, 4-6 or 5-8."""
    low, high = {1: (3, 4), 2: (4, 6)}.get(difficulty, (5, 8))
    return rng.randint(low, high)


def count(rng: random.Random, difficulty: int) -> int:
    """A number that is asked for: each is as likely as the others, and there are too many to guess it."""
    return rng.randint(1, min(8 + difficulty, 11))


def text(lines: Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
