"""Finds tasks a little beyond the pair. Must not know sealed tasks, references or how a model or sandbox is run."""
