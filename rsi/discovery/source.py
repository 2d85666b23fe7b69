"""Open tasks by recipe: the bank's train tasks first, then new instances, which must be admitted before use.

It asks the bank for train tasks and new open ones only; it never reads the sealed split.
"""

from collections import defaultdict

from pydantic import ValidationError

from rsi.errors import IntegrityError, UserError
from rsi.ids import seed_of
from rsi.ports import Scene
from rsi.types import OpenTask, Recipe, Task


def open_task(task: Task) -> OpenTask:
    """The same task as a type that cannot hold a sealed one. Raises IntegrityError, which names no content."""
    try:
        return OpenTask.model_validate(task.model_dump())
    except ValidationError:
        raise IntegrityError(f"task {task.id} is sealed or of a held-out family and may not enter discovery") from None


class TaskSource:
    """Hands out open tasks, each once. `made` holds the ids of new ones."""

    def __init__(self, scene: Scene) -> None:
        self._bank, self._seed = scene.bank, (scene.lineage, scene.generation, scene.seed)
        self._unused: dict[Recipe, list[OpenTask]] = defaultdict(list)
        self._count: dict[Recipe, int] = defaultdict(int)
        self._given: set[str] = set()
        self.made: set[str] = set()
        for task in sorted((open_task(t) for t in scene.bank.tasks("train")), key=self._order):
            self._unused[task.recipe].append(task)
        self._start = {recipe.family: recipe.difficulty for recipe in sorted(self._unused, key=lambda r: -r.difficulty)}

    def _order(self, task: OpenTask) -> int:
        return seed_of(*self._seed, "order", task.id)  # another order each generation: fresh instances come up

    @property
    def start(self) -> dict[str, int]:
        """The open families, each with the easiest difficulty among its train tasks."""
        return dict(self._start)

    def can(self, recipe: Recipe) -> bool:
        """Whether the bank has or can make tasks of this recipe."""
        return recipe in self._unused or self._make(recipe, 0) is not None

    def take(self, recipe: Recipe) -> OpenTask | None:
        """An unused train task of the recipe, else a new instance; None where the bank cannot make one."""
        if self._unused.get(recipe):
            task: OpenTask | None = self._unused[recipe].pop(0)
        else:
            task = self._make(recipe, self._count[recipe])
            self._count[recipe] += 1
            if task is not None:
                self.made.add(task.id)
        if task is None or task.id in self._given:
            return None
        self._given.add(task.id)
        return task

    def _make(self, recipe: Recipe, count: int) -> OpenTask | None:
        if recipe.family not in self._start:
            return None
        try:
            return open_task(self._bank.make(recipe, seed_of(*self._seed, recipe, count), "train"))
        except UserError:
            return None
