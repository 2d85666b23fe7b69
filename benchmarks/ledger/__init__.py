"""Attacks on ledger and promotion, by what they reach; `python -m benchmarks.ledger_attacks` plays them all."""
