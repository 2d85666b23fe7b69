"""A tiny bank and a tiny world for stage tests: the stages are real, a chance stands for model and sandbox."""

from collections.abc import Callable, Sequence

from rsi.errors import UserError
from rsi.hcp.document import parse
from rsi.ids import digest, seed_of
from rsi.ports import Scene
from rsi.types import (
    Attempt,
    AttemptSpec,
    Certificate,
    HarnessConfig,
    OpenTask,
    OutputCheck,
    Pair,
    Recipe,
    Score,
    Split,
    Task,
    TaskKey,
    Termination,
)

SECRET = "zq-canary-7731"
HARDEST = 3
BARE = 'version = 1\n\n[resources]\nsystem_prompt = "Write one shell command."\n'


class TinyBank:
    """`families` are open, one held-out family besides. SECRET stands in all sealed tasks and in all keys."""

    digest = "tiny"

    def __init__(self, families: Sequence[str], each: int = 3) -> None:
        self.families, self.each = tuple(families), each
        self.asked: list[str] = []

    def tasks(self, split: Split, shard: int = 0) -> Sequence[Task]:
        self.asked.append(split)
        if split == "sealed":
            return [self._sealed(f, i) for f in (*self.families, "hidden_family") for i in range(self.each)]
        return [self._open(Recipe(family=f), i, split) for i in range(self.each) for f in self.families]

    def key(self, task: Task) -> TaskKey:
        return TaskKey(
            task_id=task.id, reference=f"echo {SECRET}", checks=(OutputCheck(expected=f"{SECRET} {task.id[::-1]}"),)
        )

    def make(self, recipe: Recipe, seed: int, split: Split) -> OpenTask:
        if recipe.family not in self.families or recipe.difficulty > HARDEST or split == "sealed":
            raise UserError("no such recipe")
        return self._open(recipe, seed, split)

    def _open(self, recipe: Recipe, instance: int, split: Split) -> OpenTask:
        name = digest([recipe, instance, split])
        return OpenTask.model_validate(
            {
                "id": name,
                "bank": "tiny",
                "recipe": recipe,
                "split": split,
                "instance": instance,
                "request": f"{recipe.family} the lines of {name[:6]}.txt",
                "files": {f"{name[:6]}.txt": f"words of {name[::-1]}"},
            }
        )

    def _sealed(self, family: str, instance: int) -> Task:
        name = digest(["sealed", family, instance])
        return Task(
            id=name,
            bank="tiny",
            recipe=Recipe(family=family),
            split="sealed",
            instance=instance,
            held_out=family == "hidden_family",
            request=f"{family} {SECRET}",
            files={"a.txt": SECRET},
        )


Chance = Callable[[Task, HarnessConfig], float]


class World:
    """Implements ports.Draw: an attempt passes by the chance of (task, harness), decided by task, purpose and draw."""

    def __init__(self, chance: Chance, broken: Sequence[str] = ()) -> None:
        self.chance, self.broken = chance, set(broken)  # ids whose attempts cannot be scored
        self.recorded: dict[str, Attempt] = {}

    async def __call__(
        self, tasks: Sequence[Task], pair: Pair, harness: HarnessConfig, k: int, purpose: str
    ) -> Sequence[Sequence[Attempt]]:
        assert pair.hcp == harness.document_digest
        return [[self._attempt(task, pair, harness, draw, purpose) for draw in range(k)] for task in tasks]

    def _attempt(self, task: Task, pair: Pair, harness: HarnessConfig, draw: int, purpose: str) -> Attempt:
        seed = seed_of(task.id, purpose, draw)
        spec = AttemptSpec(task_id=task.id, pair=pair.digest, purpose=purpose, draw=draw, sandbox="none", seed=seed)
        if spec.digest not in self.recorded:
            self.recorded[spec.digest] = self._play(spec, task, harness)
        return self.recorded[spec.digest]

    def _play(self, spec: AttemptSpec, task: Task, harness: HarnessConfig) -> Attempt:
        passed = spec.seed / 2**63 < self.chance(task, harness)
        broken = task.id in self.broken
        return Attempt(
            id=spec.digest,
            spec=spec,
            family=task.recipe.family,
            split=task.split,
            held_out=task.held_out,
            turns=(),
            termination=Termination.INFRASTRUCTURE
            if broken
            else Termination.ANSWERED
            if passed
            else Termination.NO_ACTION,
            score=None if broken else Score(reward=float(passed), passed=passed, form=float(passed), detail=SECRET),
        )

    def count(self, part: str) -> int:
        return sum(part in attempt.spec.purpose for attempt in self.recorded.values())


def scene_of(bank: TinyBank, world: World, document: str = BARE, generation: int = 1) -> Scene:
    parsed = parse(document, "test")
    return Scene(
        lineage="test",
        generation=generation,
        seed=0,
        champion=Pair(base="base", hcp=parsed.digest),
        document=document,
        harness=parsed.harness(),
        bank=bank,
        draw=world,
        say=lambda line: None,
    )


async def certified(task: Task, key: TaskKey) -> Certificate:
    """Certifies everything, and talks too much about it."""
    return Certificate(
        task_id=task.id,
        passed=True,
        reference_passes=True,
        nothing_fails=True,
        repeats=3,
        repeats_agree=True,
        reason=key.reference,
    )


async def unproven_when_harder(task: Task, key: TaskKey) -> Certificate:
    return await (certified if task.recipe.difficulty == 1 else uncertified)(task, key)


async def uncertified(task: Task, key: TaskKey) -> Certificate:
    return (await certified(task, key)).model_copy(update={"passed": False, "nothing_fails": False})
