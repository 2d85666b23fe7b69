"""Settings that people write in TOML. Unknown keys are errors that name file and key. Imports nothing heavy."""

import os
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from pydantic_core import ErrorDetails

from rsi.errors import UserError
from rsi.types import TrainSettings

T = TypeVar("T", bound=BaseModel)


def home() -> Path:
    """RSI_HOME, or ~/.rsi: stores, models, adapters, the secret salt."""
    return Path(os.environ.get("RSI_HOME") or Path.home() / ".rsi").expanduser().absolute()


def project_root() -> Path:
    """The checkout that holds task_banks/, harness_configs/ and contracts/: the working directory if it has them, else
    the folder of this package."""
    here = Path.cwd()
    return here if (here / "task_banks").is_dir() else Path(__file__).resolve().parent.parent


Level = Annotated[int, Field(ge=1, le=5)]  # of difficulty


class Settings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ModelSettings(Settings):
    # embedded | a Hugging Face folder or id | http(s)://... | scripted:FILE | replay:FILE | document (what it names)
    id: str = "embedded"
    device: Literal["auto", "cpu", "cuda"] = "auto"
    dtype: Literal["bfloat16", "float32"] = "bfloat16"
    threads: int = Field(2, ge=1)
    max_batch: int = Field(48, ge=1)
    api_key_env: str | None = None  # for URLs: the *name* of an environment variable
    record: str | None = None  # a tape (JSON lines) that every answer is appended to, for `replay:`


class RolloutSettings(Settings):
    executor: Literal["local", "ray"] = "local"
    workers: int = Field(2, ge=1)
    concurrency: int = Field(48, ge=1)  # episodes in flight, over all workers
    retries: int = Field(2, ge=0)  # of infrastructure failures, per attempt
    max_lost: float = Field(0.2, ge=0, lt=1)  # share of a stage's attempts; beyond it, and a few, the run stops


class DiscoverySettings(Settings):
    draws: int = Field(4, ge=4)  # k: "fails" is 0 of k
    tasks: int = Field(24, ge=1)  # screened a generation
    proposals: int = Field(6, ge=0)  # recipes asked of the model
    band: tuple[float, float] = (0.1, 0.7)


class ExpansionSettings(Settings):
    attempts: int = Field(300, ge=0)  # for edits, over affected and control slices
    affected: int = Field(12, ge=1)
    control: int = Field(6, ge=0)
    draws: int = Field(2, ge=1)
    retry_control: int = Field(60, ge=0)  # attempts of the champion alone, no more than the edits had
    selection: int = Field(48, ge=1)  # selection tasks on which the composed document must beat the champion's
    edits: int = Field(8, ge=0)  # tried a generation, at most
    helpers: int = Field(4, ge=0)  # saved functions proven, and helpers measured, a generation, at most


class GateSettings(Settings):
    draws: int = Field(1, ge=1)  # attempts a sealed task and arm
    tasks: int = Field(40, ge=1)  # sealed tasks of open families
    held_out_tasks: int = Field(16, ge=0)  # sealed tasks of held-out families
    canaries: int = Field(4, ge=0)  # impossible tasks a generation, whose pass means cheating; they are no sealed draws


class BudgetSettings(Settings):
    """What a whole run may use; the run stops drawing at the first three and reports itself against all."""

    attempts: int = Field(100_000, ge=1)
    train_steps: int = Field(10_000, ge=0)
    sealed_draws: int = Field(100_000, ge=1)
    minutes: float = Field(1e6, gt=0)
    memory_gb: float = Field(1e6, gt=0)


class RunSettings(Settings):
    lineage: str = Field("main", pattern=r"^[a-z0-9][a-z0-9-]{0,40}$")
    bank: str = "shell"  # a folder under task_banks/, or a path
    difficulty: tuple[Level, Level] | None = None  # the bank cut to these levels, inclusive
    start: str = "default"  # a document under harness_configs/<bank>/, or a path
    contract: str = "contracts/default.toml"
    generations: int = Field(1, ge=0)
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


def load_toml(path: Path) -> dict[str, Any]:
    """Parse a TOML file. UserError names the file and, for malformed TOML, the line."""
    try:
        return tomllib.loads(path.read_text(encoding="utf8"))
    except FileNotFoundError:
        raise UserError(f"{path}: no such file; check the path") from None
    except IsADirectoryError:
        raise UserError(f"{path}: is a folder, a TOML file is expected") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror}); check its permissions") from None
    except UnicodeDecodeError:
        raise UserError(f"{path}: is not UTF-8 text; save it as UTF-8 TOML") from None
    except ValueError as error:  # malformed, or a number of more digits than Python reads
        raise UserError(f"{path}: malformed TOML: {error}") from None
    except RecursionError:
        raise UserError(f"{path}: malformed TOML: it is nested too deeply") from None


def validate(model: type[T], data: Any, where: str) -> T:
    """Build a settings record. UserError names `where` and the first offending key."""
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise UserError(f"{where}: {first_problem(error)}") from None


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
