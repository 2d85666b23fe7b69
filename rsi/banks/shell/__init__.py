"""The `shell` bank's families: everyday one-liners over tiny files. SHELL maps a family's name to its generator."""

from rsi.banks.shell import actions, counts, lines, numbers, texts
from rsi.banks.shell.forms import SHELL

__all__ = ["SHELL", "actions", "counts", "lines", "numbers", "texts"]
