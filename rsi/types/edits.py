"""Typed changes of an HCP document, from a catalogue."""

from typing import Annotated, Literal

from pydantic import Field

from rsi.types.harness import Budgets, Exemplar, Skill, StopHook
from rsi.types.helpers import Helper
from rsi.types.model import Sampling
from rsi.types.record import Record


class SetInstruction(Record):
    kind: Literal["instruction"] = "instruction"
    text: str


class SetAnswerFormat(Record):
    kind: Literal["answer_format"] = "answer_format"
    text: str


class AddExemplars(Record):
    """Adds to the pool from which the harness chooses by the request alone, and shows at least `shots` of them."""

    kind: Literal["exemplars"] = "exemplars"
    exemplars: tuple[Exemplar, ...]
    shots: int = Field(1, ge=1, le=8)


class AddSkill(Record):
    kind: Literal["skill"] = "skill"
    skill: Skill


class SetSampling(Record):
    kind: Literal["sampling"] = "sampling"
    sampling: Sampling


class AddStopHook(Record):
    kind: Literal["stop_hook"] = "stop_hook"
    hook: StopHook


class SetBudgets(Record):
    kind: Literal["budgets"] = "budgets"
    budgets: Budgets


class AddTool(Record):
    """Puts a proven function into the namespace of later episodes (repl protocol); one of the same name is replaced."""

    kind: Literal["tool"] = "tool"
    helper: Helper


class RemoveTool(Record):
    """Takes a helper out; `figures` say what was measured with and without it."""

    kind: Literal["remove_tool"] = "remove_tool"
    name: str
    figures: str


Change = Annotated[
    SetInstruction
    | SetAnswerFormat
    | AddExemplars
    | AddSkill
    | SetSampling
    | AddStopHook
    | SetBudgets
    | AddTool
    | RemoveTool,
    Field(discriminator="kind"),
]


class Edit(Record):
    """A typed change of an HCP document, from a catalogue. `families`: the open ones it is meant for (none: all)."""

    name: str = Field(max_length=60)
    families: tuple[str, ...] = ()
    change: Change
