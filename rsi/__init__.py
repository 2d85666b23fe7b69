"""Recursive self-improvement of an LLM agent: specialists and harness, improved together as one versioned pair."""

__version__ = "0.1.0"
