"""Hooks: commands of a document that an episode's events ask, in the sandbox. None of them can see the verifier."""

from rsi.harness.hooks.occasion import Occasion
from rsi.harness.hooks.session import HookSession

__all__ = ["HookSession", "Occasion"]
