"""Settings that people write in TOML. Unknown keys are errors that name file and key. Imports nothing heavy."""

import json
import os
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    field_serializer,
    field_validator,
    model_validator,
)
from pydantic_core import ErrorDetails

from rsi.errors import UserError
from rsi.files import load_toml
from rsi.text import show_url
from rsi.types import TrainSettings

T = TypeVar("T", bound=BaseModel)


def home() -> Path:
    """RSI_HOME, or ~/.rsi: stores, models, adapters, the secret salt. UserError where it can be no folder."""
    named = os.environ.get("RSI_HOME")
    try:
        folder = (Path(named) if named else Path.home() / ".rsi").expanduser().absolute()
    except RuntimeError as error:  # this user has no home, or the one named is not known
        why = f"RSI_HOME '{named[:60]}' cannot be used" if named else "this user has no home folder"
        raise UserError(f"{why} ({error}); set RSI_HOME to a folder that can be written") from None
    except FileNotFoundError:
        raise UserError("the working directory is gone; change to another, or set an absolute RSI_HOME") from None
    _check_home(folder)
    return folder


def _check_home(folder: Path) -> None:
    """Something else than a folder in its place, or a name that no file system takes, is told before it is used."""
    try:
        folder.stat()
    except FileNotFoundError:
        if folder.is_symlink():
            raise UserError(
                f"RSI_HOME '{folder}': is a link to nothing ({folder.readlink()}); make that folder, or set RSI_HOME "
                "to another"
            ) from None
        return
    except OSError as error:
        raise UserError(f"RSI_HOME '{str(folder)[:200]}': {error.strerror}; set RSI_HOME to a folder") from None
    if not folder.is_dir():
        raise UserError(f"RSI_HOME '{folder}': is no folder; set RSI_HOME to one")


def project_root() -> Path:
    """The checkout that holds task_banks/, harness_configs/ and contracts/: the working directory if it has them, else
    the folder of this package."""
    shipped = Path(__file__).resolve().parent.parent
    try:
        here = Path.cwd()
        return here if (here / "task_banks").is_dir() else shipped
    except OSError:  # the working directory is gone, or may not be read
        return shipped


# What one stage may ask for. A slip of a digit or three is to be found before anything is spent; what a whole run may
# spend is said by [budget].
DRAWS = 1000  # of a task: its pass rate is then known to three points
TASKS = 100_000  # of one kind
ATTEMPTS = 1_000_000
GENERATIONS = 10_000


def _whole(value: object) -> object:
    if type(value) is not int:  # for a literal, true and 1.0 are 1
        raise ValueError("a whole number is expected")
    return value


Version = Annotated[Literal[1], BeforeValidator(_whole)]  # of a form that people write in
Level = Annotated[int, Field(ge=1, le=5)]  # of difficulty


class Settings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class ModelSettings(Settings):
    # embedded | a Hugging Face folder or id | http(s)://... | scripted:FILE | replay:FILE | document (what it names)
    id: str = "embedded"
    device: Literal["auto", "cpu", "cuda"] = "auto"
    dtype: Literal["bfloat16", "float32"] = "bfloat16"
    threads: int = Field(2, ge=1, le=1024)
    max_batch: int = Field(48, ge=1, le=4096)
    api_key_env: str | None = None  # for URLs: the *name* of an environment variable
    record: str | None = None  # a tape (JSON lines) that every answer is appended to, for `replay:`

    @field_serializer("id")
    def _without_secrets(self, name: str) -> str:
        """Whoever records settings (the store, MLflow, Prefect) has no password or token of a URL."""
        return show_url(name)


class RolloutSettings(Settings):
    executor: Literal["local", "ray"] = "local"
    workers: int = Field(2, ge=1, le=1024)
    concurrency: int = Field(48, ge=1, le=10_000)  # episodes in flight, over all workers
    retries: int = Field(2, ge=0, le=100)  # of infrastructure failures, per attempt
    max_lost: float = Field(0.3, ge=0, lt=1)  # share of a stage's attempts; beyond it, and a few, the run stops


class DiscoverySettings(Settings):
    draws: int = Field(4, ge=4, le=DRAWS)  # k: "fails" is 0 of k
    tasks: int = Field(24, ge=1, le=TASKS)  # screened a generation
    proposals: int = Field(6, ge=0, le=1000)  # recipes asked of the model
    band: tuple[float, float] = (0.1, 0.7)

    @model_validator(mode="after")
    def _sensible(self) -> "DiscoverySettings":
        if self.tasks * self.draws > ATTEMPTS:
            raise ValueError(
                f"'tasks' x 'draws' is {self.tasks * self.draws} attempts, at most {ATTEMPTS} are screened"
            )
        return self

    @field_validator("band")
    @classmethod
    def _ordered(cls, band: tuple[float, float]) -> tuple[float, float]:
        if not 0 <= band[0] <= band[1] <= 1:
            raise ValueError("two pass rates in [0, 1] are expected, the lower one first")
        return band


class ExpansionSettings(Settings):
    attempts: int = Field(300, ge=0, le=ATTEMPTS)  # for edits, over affected and control slices
    affected: int = Field(12, ge=1, le=TASKS)
    control: int = Field(6, ge=0, le=TASKS)
    draws: int = Field(2, ge=1, le=DRAWS)
    retry_control: int = Field(60, ge=0, le=ATTEMPTS)  # attempts of the champion alone, no more than the edits had
    selection: int = Field(
        48, ge=1, le=TASKS
    )  # selection tasks on which the composed document must beat the champion's
    edits: int = Field(8, ge=0, le=1000)  # tried a generation, at most
    helpers: int = Field(4, ge=0, le=1000)  # saved functions proven, and helpers measured, a generation, at most


class GateSettings(Settings):
    draws: int = Field(1, ge=1, le=DRAWS)  # attempts a sealed task and arm
    tasks: int = Field(40, ge=1, le=TASKS)  # sealed tasks of open families
    held_out_tasks: int = Field(16, ge=0, le=TASKS)  # sealed tasks of held-out families
    canaries: int = Field(
        4, ge=0, le=1000
    )  # impossible tasks a generation, whose pass means cheating; they are no sealed draws


class BudgetSettings(Settings):
    """What a whole run may use; the run stops drawing at the first three and reports itself against all."""

    attempts: int = Field(100_000, ge=1, le=10**9)
    train_steps: int = Field(10_000, ge=0, le=10**9)
    sealed_draws: int = Field(100_000, ge=1, le=10**9)
    minutes: float = Field(1e6, gt=0)
    memory_gb: float = Field(1e6, gt=0)


class RunSettings(Settings):
    lineage: str = Field("main", pattern=r"^[a-z0-9][a-z0-9-]{0,40}$")
    bank: str = "shell"  # a folder under task_banks/, or a path
    difficulty: tuple[Level, Level] | None = None  # the bank cut to these levels, inclusive
    start: str = "default"  # a document under harness_configs/<bank>/, or a path
    contract: str = "contracts/default.toml"
    generations: int = Field(1, ge=0, le=GENERATIONS)
    seed: int = 0
    sandbox: Literal["auto", "bubblewrap", "docker", "none"] = "auto"
    fallback_bank: str | None = None  # used, aloud, where no sandbox can be had
    allow_env: tuple[str, ...] = ()  # names of environment variables that documents may pass into sandboxes
    ledger_key_env: str | None = None  # *name* of the variable whose value signs the ledger; else RSI_LEDGER_KEY_ENV's
    approved_edits: tuple[str, ...] = ()  # digests of edits that a person has approved
    model: ModelSettings = ModelSettings()
    rollouts: RolloutSettings = RolloutSettings()
    discovery: DiscoverySettings = DiscoverySettings()
    expansion: ExpansionSettings = ExpansionSettings()
    update: TrainSettings = TrainSettings()
    gate: GateSettings = GateSettings()
    budget: BudgetSettings = BudgetSettings()

    @field_validator("difficulty")
    @classmethod
    def _ordered(cls, levels: tuple[int, int] | None) -> tuple[int, int] | None:
        if levels is not None and levels[0] > levels[1]:
            raise ValueError("the range of difficulty is upside down")
        return levels


def validate(model: type[T], data: Any, where: str) -> T:
    """Build a record from what people wrote. Types are strict: a truth value or a quoted number is no number (a whole
    number is one where a fraction may stand). UserError names `where` and the first offending key."""
    try:
        # JSON's strict mode tells numbers, strings and truth values apart, and takes lists for tuples.
        return model.model_validate_json(json.dumps(data, default=_no_json), strict=True)
    except ValidationError as error:
        raise UserError(f"{where}: {first_problem(error)}") from None


def _no_json(value: Any) -> Any:
    """A date or time of TOML: no key here takes one, and none is the string of the same text."""
    return {"toml date or time": str(value)}


def first_error(error: ValidationError) -> ErrorDetails:
    """The first problem. A key that is unknown comes before others: it may be the one that is missing, misspelled."""
    items = error.errors(include_url=False)
    return next((one for one in items if one["type"] == "extra_forbidden"), items[0])


def first_problem(error: ValidationError) -> str:
    """The first problem as one plain line: key, what was wrong, what was given."""
    item = first_error(error)
    key = ".".join(str(part) for part in item["loc"]) or "document"
    if item["type"] == "extra_forbidden":
        return f"unknown key '{key}'; remove it or correct its spelling"
    if item["type"] == "missing":
        return f"key '{key}' is missing"
    said = item["msg"].removeprefix("Value error, ")
    given = "" if isinstance(item["input"], dict) else f" (given: {item['input']!r:.60})"
    return f"'{key}': {said[0].lower() + said[1:]}{given}"


def load_settings(path: Path) -> RunSettings:
    return validate(RunSettings, load_toml(path), str(path))
