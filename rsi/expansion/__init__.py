"""Expands experience on failing tasks: attributes failures and searches configuration edits on fresh draws.

Must not know sealed tasks, or how attempts are run and stored.
"""
