"""Stop strings, for backends whose sampler does not keep them in the text."""

from collections.abc import Sequence


def through_stop(text: str, stop: Sequence[str]) -> str:
    """`text` up to and with the first stop string that stands in it; all of it where none does."""
    ends = [text.index(s) + len(s) for s in stop if s in text]
    return text[: min(ends)] if ends else text
