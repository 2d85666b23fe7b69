import pytest

from rsi.discovery.band import levels_from, next_level, place, reliable
from rsi.types import Discovery, OpenTask, Recipe

BAND = (0.1, 0.7)


@pytest.mark.parametrize(
    ("passes", "n", "where"), [(0, 4, "below"), (1, 10, "band"), (7, 10, "band"), (3, 4, "above"), (1, 11, "below")]
)
def test_the_ends_of_the_band_belong_to_it(passes: int, n: int, where: str):
    assert place(passes, n, BAND) == where


def test_levels_move_by_one_and_stay_within_bounds():
    assert [next_level(2, p, 4, BAND) for p in (0, 2, 4)] == [1, 2, 3]
    assert (next_level(1, 0, 4, BAND), next_level(5, 4, 4, BAND)) == (1, 5)


def test_reliably_solved_needs_eight_draws():
    assert not reliable(7, 7)
    assert reliable(8, 8)
    assert not reliable(7, 8)
    assert reliable(9, 10)


def measured(passes: dict[tuple[str, int], int]) -> Discovery:
    tasks = tuple(
        OpenTask(id=f"{f}{d}", bank="b", recipe=Recipe(family=f, difficulty=d), split="train", instance=0, request="r")
        for f, d in passes
    )
    return Discovery(
        tasks=tasks,
        draws=4,
        passes={f"{f}{d}": p for (f, d), p in passes.items()},
        fails=(),
        band=(),
        solved=(),
        proposed=0,
    )


def test_levels_follow_the_latest_generation_that_measured_a_family():
    first = measured({("sort", 1): 4, ("head", 1): 0, ("tail", 2): 0})
    second = measured({("sort", 1): 4, ("sort", 2): 2})
    assert levels_from([first], BAND) == {"sort": 2, "head": 1, "tail": 1}
    assert levels_from([first, second], BAND) == {"sort": 2, "head": 1, "tail": 1}
    assert levels_from([first, measured({("sort", 2): 4})], BAND)["sort"] == 3
