"""Coverage against attempts. Pure. It is adaptive: what a search over many configurations reached together, a ceiling
that no single configuration need reach."""

from collections.abc import Collection, Iterable, Sequence

from rsi.types import Attempt, CoveragePoint


def curve(attempts: Iterable[Attempt], tasks: Collection[str]) -> tuple[CoveragePoint, ...]:
    """A point at the start, at each pass, and at the end, in the order of `attempts`.

    Every scored attempt is spent, control slices included; passes and unique coverage count on `tasks` (ids) only.
    """
    points, spent, passes, covered = [CoveragePoint(attempts=0, passes=0, covered=0)], 0, 0, set[str]()
    for attempt in attempts:
        if attempt.score is None:
            continue
        spent += 1
        if attempt.passed and attempt.spec.task_id in tasks:
            passes += 1
            covered.add(attempt.spec.task_id)
            points.append(CoveragePoint(attempts=spent, passes=passes, covered=len(covered)))
    if points[-1].attempts < spent:
        points.append(CoveragePoint(attempts=spent, passes=passes, covered=len(covered)))
    return tuple(points)


def at(points: Sequence[CoveragePoint], attempts: int) -> CoveragePoint:
    """What a curve had reached after `attempts` attempts; its end where it is shorter."""
    reached = [point for point in points if point.attempts <= attempts]
    if not reached:
        return CoveragePoint(attempts=0, passes=0, covered=0)
    return reached[-1].model_copy(update={"attempts": min(attempts, points[-1].attempts)})


def equal_budget(
    search: Sequence[CoveragePoint], retry: Sequence[CoveragePoint]
) -> tuple[CoveragePoint, CoveragePoint]:
    """Search and retry control after the same number of attempts, the smaller of both budgets."""
    budget = min(search[-1].attempts if search else 0, retry[-1].attempts if retry else 0)
    return at(search, budget), at(retry, budget)
