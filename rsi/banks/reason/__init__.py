"""The `reason` bank's families: short questions with one short answer. REASON maps a family's name to its generator."""

from rsi.banks.reason import numbers, order, words
from rsi.banks.reason.forms import REASON

__all__ = ["REASON", "numbers", "order", "words"]
