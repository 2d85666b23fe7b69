"""Trains the specialists: what may be learned from, the stage, adapter revisions; the trainer itself is in `trl/`.

Must not know sealed tasks, or how a rollout is played.
"""
