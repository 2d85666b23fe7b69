"""The `ui` bank's families: small components that a browser drives. UI maps a family's name to its generator."""

from rsi.banks.ui import counts, fields, lists, panels
from rsi.banks.ui.forms import UI

__all__ = ["UI", "counts", "fields", "lists", "panels"]
