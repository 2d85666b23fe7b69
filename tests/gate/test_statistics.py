import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rsi.figures import wilson
from rsi.gate.attribution import effects
from rsi.gate.statistics import ARMS, mean_difference, rate, ratio


def test_rate_is_wilson_with_one_draw_a_task():
    assert rate([1, 0, 1, 1], "x") == wilson(3, 4, "x")


def test_more_draws_of_a_task_do_not_add_to_n():
    found = rate([0.5, 0.25, 1.0])
    assert found.n == 3 and found.low == wilson(1, 3).low and found.high == wilson(2, 3).high


def test_a_textbook_paired_t_interval_when_each_task_is_its_own_family():
    differences = [1.0, 0.0, 1.0, -1.0, 0.0, 1.0]
    found = mean_difference(differences, list("abcdef"))
    half = 2.570582 * np.std(differences, ddof=1) / np.sqrt(6)  # t(0.975, 5)
    assert (found.value, found.high) == pytest.approx((1 / 3, min(1.0, 1 / 3 + half)), abs=1e-6)
    assert found.low == pytest.approx(1 / 3 - half, abs=1e-6) and found.n == 6


def test_alike_tasks_of_one_family_widen_the_interval():
    differences = [1.0] * 5 + [0.0] * 5 + [0.0] * 5 + [1.0] * 5
    families = [f for f in "abcd" for _ in range(5)]
    clustered = mean_difference(differences, families)
    apart = mean_difference(differences, [str(i) for i in range(20)])
    assert clustered.high - clustered.low > 2 * (apart.high - apart.low)
    assert "few" in clustered.note and "few" not in apart.note


def test_differences_that_cancel_within_families_claim_no_certainty():
    found = mean_difference([1.0, 0.0] * 4, [f for f in "abcd" for _ in range(2)])
    assert found.value == 0.5 and found.high - found.low > 0.5


def test_edges():
    assert (mean_difference([], []).low, mean_difference([], []).high) == (-1, 1)
    one = mean_difference([1.0], ["a"])
    assert (one.value, one.low, one.high) == (1, -1, 1)
    ties = mean_difference([0.0] * 30, [str(i % 10) for i in range(30)])
    assert ties.value == 0 and ties.low == pytest.approx(-(1 - 0.025**0.1)) == -ties.high
    wins = mean_difference([1.0] * 30, [str(i % 10) for i in range(30)])
    assert wins.high == 1 and 0 < wins.low < 1


def test_ratio():
    found = ratio([20, 40, 30], [10, 20, 15], list("abc"))
    assert found is not None and found.value == 2 and found.low == pytest.approx(2) == found.high
    assert ratio([1, 2], [0, 0], ["a", "b"]) is None
    assert ratio([1, 2], [1, 2], ["a", "a"]) is None


def test_effects_of_a_two_by_two():
    families = [str(i) for i in range(12)]
    rng = np.random.default_rng(0)
    columns = {name: rng.integers(0, 2, 12).astype(float) for name in ARMS}
    found = effects(columns, families)
    oo, on, no, nn = (columns[name].mean() for name in ARMS)
    assert found["weights"].value == pytest.approx((no - oo + nn - on) / 2)
    assert found["harness"].value == pytest.approx((on - oo + nn - no) / 2)
    assert found["interaction"].value == pytest.approx(nn - on - no + oo)


def test_interval_covers_a_family_effect_about_as_often_as_it_says():
    """Families that gain as a whole: 25 of them, 2 tasks each, gain probability 0.2 a family."""
    rng, covered, runs = np.random.default_rng(7), 0, 400
    families = [str(i // 2) for i in range(50)]
    for _ in range(runs):
        gains = np.repeat(rng.random(25) < 0.2, 2).astype(float)
        found = mean_difference(gains.tolist(), families)
        covered += found.low <= 0.2 <= found.high
    assert covered / runs > 0.88


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from([-1.0, -0.5, 0.0, 0.5, 1.0]), st.sampled_from("abcde")), max_size=30))
def test_any_interval_holds_its_value_and_mirrors(pairs):
    differences, families = [d for d, _ in pairs], [f for _, f in pairs]
    found = mean_difference(differences, families)
    mirror = mean_difference([-d for d in differences], families)
    assert -1 <= found.low <= found.value + 1e-12 and found.value <= found.high + 1e-12 and found.high <= 1
    assert mirror.low == pytest.approx(-found.high) and mirror.high == pytest.approx(-found.low)
