"""`rsi bank check`: tasks of a bank prove themselves, a bounded number at once."""

import asyncio
import functools
import itertools
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from rsi.banks.generated import GeneratedBank
from rsi.banks.guess import measure
from rsi.banks.near import SealedScan
from rsi.errors import UserError
from rsi.ports import Certifier
from rsi.types import Certificate, Recipe, Split, Task

SPLITS: tuple[Split, ...] = ("train", "selection", "sealed")
NEAR = "near a sealed task"
NONE_MADE = "no task could be made: every instance is passed by doing nothing or by the request, or too few differ"


@dataclass(frozen=True)
class CheckRow:
    """One family in one split. `problems` names quarantined tasks with their reasons, or says that none could be made;
    empty where all passed. `asked`: how many different tasks bank.toml asks for; `made`: how many there are. `guesses`:
    what the best guesses at the family's answers earn; `refused`: that it is too much, or empty."""

    bank: str
    split: Split
    family: str
    held_out: bool
    tasks: int
    passed: int
    made: int = 0
    asked: int = 0
    problems: tuple[str, ...] = ()
    guesses: tuple[str, ...] = ()
    refused: str = ""


async def check_bank(
    bank: GeneratedBank,
    certify: Certifier,
    sample: int | None = None,
    keep: Callable[[Certificate], None] = lambda certificate: None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Sequence[CheckRow]:
    """Certify all tasks, or the first `sample` a family and split (sealed: of shard 0). Open ones are scanned for
    nearness to sealed ones too. `keep` gets each certificate as it comes; `certify` bounds how many run at once.

    Raises InfrastructureError where a sandbox breaks: a machine's fault quarantines no task."""
    tasks = chosen(bank, sample)
    scan, done = SealedScan(bank.tasks("sealed")), 0

    async def prove(task: Task) -> str:
        nonlocal done
        certificate = await certify(task, bank.key(task))
        if task.split != "sealed" and scan(task):
            certificate = near(certificate)
        keep(certificate)
        done += 1
        progress(done, len(tasks))
        return certificate.reason

    try:
        async with asyncio.TaskGroup() as group:
            running = [group.create_task(prove(task)) for task in tasks]
    except ExceptionGroup as failures:  # one broken sandbox tells as much as all of them
        raise failures.exceptions[0] from None
    return _rows(bank, tasks, [job.result() for job in running], _guesses(bank))


def chosen(bank: GeneratedBank, sample: int | None) -> list[Task]:
    """The tasks to be checked; all of them include two at each level that an open family has and its split does not."""
    taken: Counter[tuple[str, str]] = Counter()
    tasks = []
    for task in (task for split in SPLITS for task in bank.tasks(split)):
        place = (task.split, task.recipe.family)
        if sample is None or taken[place] < sample:
            taken[place] += 1
            tasks.append(task)
    return tasks + (_other_levels(bank) if sample is None else [])


def _other_levels(bank: GeneratedBank) -> list[Task]:
    present = {task.recipe for task in bank.tasks("train")}
    made: list[Task] = []
    for name in bank.open_families:
        low, high = bank.definition.families[name].difficulty
        for recipe in (Recipe(family=name, difficulty=level) for level in range(low, high + 1)):
            for seed in (1, 2) if recipe not in present else ():
                try:
                    made.append(bank.make(recipe, seed, "train"))
                except UserError:  # the family is too small for another one
                    break
    return list({task.id: task for task in made}.values())


def near(certificate: Certificate) -> Certificate:
    """The certificate of a task that may not be open."""
    reason = "; ".join(filter(None, (certificate.reason, NEAR)))
    return certificate.model_copy(update={"passed": False, "far_from_sealed": False, "reason": reason})


def _guesses(bank: GeneratedBank) -> dict[str, tuple[tuple[str, ...], str]]:
    """Each family's best guesses at the level where they earn most, and why that is too much."""
    families, labels = bank.definition.families, bank.definition.choices
    found = dict[str, tuple[tuple[str, ...], str]]()
    for group in [tuple(families)] if labels else [(name,) for name in families]:
        choices = labels or families[group[0]].choices
        made = [measure(functools.partial(bank.drafts, group, level), choices) for level in bank.levels(group[0])]
        both, refused = max(made, key=lambda one: (bool(one[1]), max(guess.rate.value for guess in one[0])))
        found |= dict.fromkeys(group, (tuple(map(str, both)), refused))
    return found


def _rows(
    bank: GeneratedBank,
    tasks: Sequence[Task],
    problems: Sequence[str],
    guesses: Mapping[str, tuple[tuple[str, ...], str]],
) -> list[CheckRow]:
    """A row for each family that is to have tasks in a split, also where it has none."""
    found: dict[tuple[Split, str], list[tuple[Task, str]]] = {}
    for task, problem in zip(tasks, problems, strict=True):
        found.setdefault((task.split, task.recipe.family), []).append((task, problem))
    made = Counter((task.split, task.recipe.family) for split in SPLITS for task in bank.tasks(split))
    rows = []
    for split, name in itertools.product(SPLITS, sorted(bank.definition.families)):
        held_out = bank.definition.families[name].role == "held_out"
        if held_out and split != "sealed":
            continue
        here = found.get((split, name), [])
        told = [f"{task.id[:12]}: {problem}" for task, problem in here if problem]
        rows.append(
            CheckRow(
                bank=bank.definition.name,
                split=split,
                family=name,
                held_out=held_out,
                tasks=len(here),
                passed=sum(not problem for _, problem in here),
                made=made[split, name],
                asked=getattr(bank.definition.splits, split).instances,
                problems=tuple(told if made[split, name] else [NONE_MADE]),
                guesses=guesses[name][0],
                refused=guesses[name][1],
            )
        )
    return rows
