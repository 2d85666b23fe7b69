"""Comparisons hold exactly, and hostile answers cost nothing."""

import time
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rsi.verify.compare import number, same


@pytest.mark.parametrize(
    ("output", "expected", "mode", "equal"),
    [
        ("4\n", "4", "exact", True),
        ("a  \nb\n\n", "a\nb", "exact", True),
        ("  a", "a", "exact", False),  # leading space of a line counts
        ("b\na", "a\nb", "exact", False),
        ("b\na\n", "a\nb", "lines", True),
        ("a\na\nb", "a\nb\nb", "lines", False),
        (" 4.0 \n", "4", "numeric", True),
        ("8/2", "4", "numeric", True),
        ("0.30", "0.3", "numeric", True),
        ("0.30000000000000004", "0.3", "numeric", False),
        ("4 apples", "4", "numeric", False),
        ("", "", "numeric", False),
        ("nan", "nan", "numeric", False),
        ("inf", "inf", "numeric", False),
        ("٤", "4", "numeric", False),
    ],
)
def test_modes(output: str, expected: str, mode: str, equal: bool):
    assert same(output, expected, mode) is equal


@pytest.mark.parametrize(
    "hostile", ["1e999999999", "9" * 10_000_000, "1/0", "1" + "0" * 50, "1.5/2", "--4", "1_000", "0x10"]
)
def test_hostile_numbers_are_no_numbers_and_are_bounded(hostile: str):
    start = time.monotonic()
    assert number(hostile) is None
    assert time.monotonic() - start < 0.5


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**20), max_value=10**20, places=6))
def test_a_number_written_out_keeps_its_exact_value(value):
    assert number(f"{value:f}") == Fraction(value)
