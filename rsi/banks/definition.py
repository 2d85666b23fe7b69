"""`bank.toml`: what a bank says of itself. Strict: an unknown key is an error that names file and key."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from rsi.config import Level, Settings, Version, validate
from rsi.errors import UserError
from rsi.files import load_toml

# Left out where it is not given, so that the digests of other banks stay.
Choices = Annotated[int | None, Field(None, ge=2, le=100, exclude_if=lambda value: value is None)]


class FamilySettings(Settings):
    """`role` train: an open family. held_out: only sealed tasks come of it. `difficulty` is the inclusive range.
    `choices`: its answer is one of so few by its nature (2 of a question of yes or no), so that a guess may pass an
    even chance and a little more; else a fifth (`rsi bank check`)."""

    role: Literal["train", "held_out"] = "train"
    difficulty: tuple[Level, Level] = (1, 3)
    choices: Choices = None

    @model_validator(mode="after")
    def _ordered(self) -> "FamilySettings":
        if self.difficulty[0] > self.difficulty[1]:
            raise ValueError("the range of difficulty is upside down")
        return self


class SplitSettings(Settings):
    """Tasks a family, and the difficulties they take in turn (cut to the family's own range)."""

    instances: int = Field(ge=1, le=500)
    difficulties: tuple[Level, ...] = Field((1,), min_length=1)


class Splits(Settings):
    train: SplitSettings
    selection: SplitSettings
    sealed: SplitSettings


class BankDefinition(Settings):
    version: Version
    name: str = Field(pattern=r"^[a-z][a-z0-9_-]{0,40}$")
    generator: str  # a table of generators that ships with the project, or a .py file in the bank's folder
    specialist: Literal["agent", "chat", "coding", "genui"]
    needs_sandbox: bool
    splits: Splits
    families: dict[str, FamilySettings] = Field(min_length=1)
    choices: Choices = None  # of a bank whose answers are labels: its families, each of one label, are judged together

    @property
    def elsewhere(self) -> bool:
        """Whether the bank brings its own generator, which runs in a sandbox only."""
        return self.generator.endswith(".py")

    @property
    def in_browser(self) -> bool:
        """Whether its answers are components, judged by compiling and driving them in a browser."""
        return self.generator == "ui"

    @property
    def runs_code(self) -> bool:
        """Whether anything of it needs a sandbox: its tasks, its generator, or its judge."""
        return self.needs_sandbox or self.elsewhere or self.in_browser

    def within(self, low: int, high: int) -> "BankDefinition":
        """The bank cut to the difficulties `low` to `high`; families without a level among them are left out."""
        cut = {n: (max(low, f.difficulty[0]), min(high, f.difficulty[1])) for n, f in self.families.items()}
        families = {
            name: family.model_copy(update={"difficulty": cut[name]})
            for name, family in self.families.items()
            if cut[name][0] <= cut[name][1]
        }
        return self.model_copy(update={"families": families})


def load_definition(folder: Path, difficulty: tuple[int, int] | None = None) -> BankDefinition:
    """Read `folder`/bank.toml, cut to a range of difficulty where one is given. UserError for a missing or malformed
    file, an unknown key, or no open family."""
    path = folder / "bank.toml"
    definition = validate(BankDefinition, load_toml(path), str(path))
    if all(family.role == "held_out" for family in definition.families.values()):
        raise UserError(f"{path}: 'families': all are held out; give at least one the role \"train\"")
    if difficulty is None:
        return definition
    cut = definition.within(*difficulty)
    if all(family.role == "held_out" for family in cut.families.values()):
        low, high = difficulty
        raise UserError(f"'difficulty': no open family of {path} has a level from {low} to {high}; widen the range")
    return cut
