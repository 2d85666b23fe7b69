"""The `talk` bank's families: conversations in which the user tells things early and asks for them late. TALK maps a
family's name to its generator."""

from rsi.banks.talk import changes, counts, facts
from rsi.banks.talk.forms import TALK

__all__ = ["TALK", "changes", "counts", "facts"]
