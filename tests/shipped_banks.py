"""The banks that ship, under one salt, each opened once for all tests."""

from functools import cache
from pathlib import Path

from rsi.banks.generated import GeneratedBank, open_bank

BANKS = Path(__file__).resolve().parents[1] / "task_banks"
SALT = b"s" * 32


@cache
def shipped(name: str) -> GeneratedBank:
    """Its tasks are made once for all tests too, so no test may change it."""
    return open_bank(BANKS / name, SALT)
