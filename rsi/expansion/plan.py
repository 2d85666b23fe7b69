"""Which edits are tried, on which tasks and with how many draws, within the budget. Pure and deterministic."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from rsi.config import ExpansionSettings
from rsi.types import Attribution, Edit, Locus, OpenTask

T = TypeVar("T")
EVIDENCE = 8  # draws an arm that a small slice is repeated to reach
_CODE = ("tool", "remove_tool")  # proven and reviewed before they are tried
# kinds of edits in the order in which they are likely to help, by the locus suspected most
BY_LOCUS: Mapping[Locus, tuple[str, ...]] = {
    Locus.CONFIGURATION: (
        "exemplars",
        "answer_format",
        "instruction",
        "skill",
        "stop_hook",
        "budgets",
        "sampling",
        *_CODE,
    ),
    Locus.MODEL: ("exemplars", "sampling", "skill", "instruction", *_CODE, "answer_format", "budgets", "stop_hook"),
}


@dataclass(frozen=True)
class Plan:
    """One trial: `draws` of each affected task and `control_draws` of each control task, in each arm."""

    edit: Edit
    affected: tuple[OpenTask, ...]
    draws: int
    control: tuple[OpenTask, ...]
    control_draws: int

    @property
    def arms(self) -> tuple[tuple[OpenTask, int], ...]:
        """Every task with its draws."""
        return (*((t, self.draws) for t in self.affected), *((t, self.control_draws) for t in self.control))


def ranked(catalogue: Sequence[Edit], fails: Sequence[OpenTask], loci: Sequence[Attribution]) -> list[Edit]:
    """Edits that name a failing family, in rounds so that every family has a first try before any has a second, those
    with most failing tasks first; then general edits. Likelier kinds by the suspected locus come first, and within a
    kind the order of the catalogue holds."""
    failing = Counter(task.recipe.family for task in fails)
    suspected = Counter(a.locus for a in loci).most_common(1)
    kinds = BY_LOCUS.get(suspected[0][0] if suspected else Locus.CONFIGURATION, BY_LOCUS[Locus.CONFIGURATION])
    by_kind = sorted(catalogue, key=lambda edit: kinds.index(edit.change.kind))  # stable: within a kind as written
    named: dict[tuple[str, ...], list[Edit]] = {}
    for edit in by_kind:
        if set(edit.families) & set(failing):
            named.setdefault(edit.families, []).append(edit)
    groups = sorted(named, key=lambda families: (-sum(failing[f] for f in families), families))
    return rounds([named[group] for group in groups]) + [edit for edit in by_kind if not edit.families]


def plan(
    edits: Sequence[Edit], fails: Sequence[OpenTask], solved: Sequence[OpenTask], settings: ExpansionSettings
) -> list[Plan]:
    """A plan for each of `edits` that the budget still holds. An equal share each; what one leaves goes to the next.

    The arm without an edit is drawn once a task and shared, so only further draws of it cost."""
    plans: list[Plan] = []
    left, drawn = settings.attempts, dict[str, int]()
    for index, edit in enumerate(edits):
        share = left // (len(edits) - index)
        affected = spread([t for t in fails if not edit.families or t.recipe.family in edit.families])
        control = spread([t for t in solved if t.recipe.family not in edit.families])
        control = control[: min(settings.control, share // (3 * settings.draws))]
        fitted = _fit(edit, affected[: settings.affected], control, settings.draws, (share, drawn))
        if fitted is not None:
            left -= cost(fitted, drawn)
            drawn |= {task.id: max(k, drawn.get(task.id, 0)) for task, k in fitted.arms}
            plans.append(fitted)
    return plans


def cost(trial: Plan, drawn: Mapping[str, int]) -> int:
    """Attempts that a trial needs, where `drawn[task id]` draws without an edit are there already."""
    return sum(k + max(0, k - drawn.get(task.id, 0)) for task, k in trial.arms)


def _fit(
    edit: Edit,
    affected: Sequence[OpenTask],
    control: Sequence[OpenTask],
    draws: int,
    budget: tuple[int, Mapping[str, int]],
) -> Plan | None:
    """The largest trial that costs at most the share: first fewer repeats, then fewer tasks."""
    share, drawn = budget
    for size in range(len(affected), 0, -1):
        for k in range(max(draws, -(-EVIDENCE // size)), draws - 1, -1):
            trial = Plan(edit, tuple(affected[:size]), k, tuple(control), draws)
            if cost(trial, drawn) <= share:
                return trial
    return None


def spread(tasks: Sequence[OpenTask]) -> list[OpenTask]:
    """The tasks in rounds over their families, so that any beginning of the list is balanced."""
    families: dict[str, list[OpenTask]] = {}
    for task in tasks:
        families.setdefault(task.recipe.family, []).append(task)
    return rounds([families[name] for name in sorted(families)])


def rounds(groups: Sequence[Sequence[T]]) -> list[T]:
    """The first of each group, then the second of each, and so on."""
    return [group[index] for index in range(max(map(len, groups), default=0)) for group in groups if index < len(group)]
