"""[rsi]: what the draft lacks. Unknown keys here are named as mistakes by `rsi hcp check`."""

from typing import Literal

from pydantic import ConfigDict, Field

from rsi.hcp.form.part import Part
from rsi.hcp.form.resources import Packed
from rsi.types import Budgets, Exemplar, Helper, Memory, Skill


class Answer(Part):
    format: str = ""


class BudgetsPart(Budgets):
    model_config = ConfigDict(extra="ignore", strict=True)


class ExemplarPart(Exemplar):
    model_config = ConfigDict(extra="ignore", strict=True)


class SkillPart(Skill):
    model_config = ConfigDict(extra="ignore", strict=True)


class Exemplars(Part):
    shots: int = Field(0, ge=0, le=8)
    pool: tuple[ExemplarPart, ...] = ()


class HelperPart(Helper):
    model_config = ConfigDict(extra="ignore", strict=True)


class Helpers(Part):
    pool: tuple[HelperPart, ...] = ()


class MemoryPart(Memory):
    model_config = ConfigDict(extra="ignore", strict=True)


class RsiPart(Part):
    parent: str | None = None
    protocol: Literal["text", "repl", "tools"] = "text"
    list_files: bool = False
    answer: Answer = Answer()
    memory: MemoryPart | None = None
    budgets: BudgetsPart = BudgetsPart()
    exemplars: Exemplars = Exemplars()
    skills: tuple[SkillPart, ...] = ()
    helpers: Helpers = Helpers()
    files: tuple[Packed, ...] = ()
