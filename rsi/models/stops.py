"""Stop strings, for backends whose sampler does not keep them in the text."""

from bisect import bisect_right
from collections.abc import Sequence

from rsi.fences import blocks


def through_stop(text: str, stop: Sequence[str]) -> str:
    """`text` up to and with the first stop string that ends it; all of it where none does."""
    end = first_stop(text, stop)
    return text if end is None else text[:end]


def first_stop(text: str, stop: Sequence[str]) -> int | None:
    """Where the first stop string ends, or None. One that a block of a longer fence, or of tildes, quotes is none."""
    stop = [word for word in stop if word in text]
    if not stop:
        return None
    quoting = [block for block in blocks(text) if block.quotes]
    begins = [block.at for block in quoting]

    def end_of(word: str) -> int | None:
        at = text.find(word)
        while at >= 0:
            held_by = bisect_right(begins, at) - 1
            if held_by < 0 or at + 1 >= quoting[held_by].end:
                return at + len(word)
            at = text.find(word, max(at + 1, quoting[held_by].end - 1))
        return None

    return min((end for word in stop if (end := end_of(word)) is not None), default=None)
