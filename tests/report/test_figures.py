import pytest
from scipy.stats import binomtest

from rsi.figures import wilson


def test_the_interval_is_wilsons():
    for n in (1, 7, 40):
        for passes in range(n + 1):
            rate, known = wilson(passes, n), binomtest(passes, n).proportion_ci(0.95, method="wilson")
            assert (rate.value, rate.n) == (passes / n, n)
            assert (rate.low, rate.high) == (pytest.approx(known.low, abs=1e-9), pytest.approx(known.high, abs=1e-9))


def test_no_draws_say_nothing_and_impossible_counts_are_refused():
    assert (wilson(0, 0).low, wilson(0, 0).high) == (0, 1)
    for passes, n in ((-1, 4), (5, 4)):
        with pytest.raises(ValueError, match="cannot be"):
            wilson(passes, n)
