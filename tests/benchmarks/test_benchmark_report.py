"""Figures carry sample sizes and intervals; a missed goal is an exit status; the last line is one JSON object."""

import json

import pytest

from benchmarks.plain_sandbox import PlainProvider
from benchmarks.report import Figure, Goal, finish, mean, quick, ratio
from benchmarks.rollout_throughput import Arm, provider_arm, rates

SLOW = Figure("rate", 2.0, "per s", 3, 1.5, 2.5)


@pytest.mark.parametrize(
    ("goals", "status"),
    [
        ([Goal("rate", at_least=2)], 0),
        ([Goal("rate", at_most=2)], 0),
        ([Goal("rate", at_least=2.1)], 1),
        ([Goal("rate", at_least=1), Goal("rate", at_most=1.9)], 1),
        ([Goal("not measured", at_least=0)], 1),
    ],
)
def test_the_exit_status_says_whether_every_goal_is_met(goals, status, capsys):
    assert finish("name", [SLOW], goals) == status
    line = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert set(line) == {"name", "figures", "goals", "met", "n", "intervals", "commit"}
    assert (line["figures"], line["n"], line["intervals"]) == ({"rate": 2.0}, {"rate": 3}, {"rate": [1.5, 2.5]})
    assert line["met"] is (status == 0)
    assert line["goals"].keys() == {goal.text for goal in goals}


def test_a_ratio_is_paired():
    figure = ratio("a / b", [2.0, 20.0, 200.0], [1.0, 10.0, 100.0])
    assert (figure.value, figure.low, figure.high) == pytest.approx((2, 2, 2))
    with pytest.raises(ValueError, match="paired"):
        ratio("a / b", [1.0], [1.0, 2.0])


def test_an_interval_holds_its_mean():
    figure = mean("x", "s", [1.0, 2.0, 3.0, 4.0])
    assert figure.low < figure.value == 2.5 < figure.high
    assert figure.n == 4


def test_quick_is_read():
    assert quick("what", ["--quick"])
    assert not quick("what", [])


async def test_arms_take_turns_and_the_first_round_is_dropped():
    seen = []

    def arm(name: str) -> Arm:
        async def play(n: int) -> None:
            seen.append((name, n))

        return Arm(name, play)

    found = await rates([arm("a"), arm("b")], rounds=2, episodes=5)
    assert [name for name, _ in seen] == ["b", "a", "a", "b", "b", "a"]
    assert {name: len(values) for name, values in found.items()} == {"a": 2, "b": 2}


async def test_an_arm_plays_real_episodes():
    await provider_arm("plain", PlainProvider()).play(2)
