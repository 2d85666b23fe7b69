"""The part of an HCP document that this harness realises, in the document's own shape.

Each model names the keys it reads; other keys stay in the document untouched (`rsi.hcp.check` lists them). Problems
carry the document's own key path, since the models have its shape.
"""

import base64
import binascii
import hashlib
from pathlib import PurePosixPath
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from rsi.types import Budgets, Exemplar, Sampling, Skill, StopHook

SHELL_NAMES = ("shell", "bash")  # RFC-0002 calls it bash
TOOLS = (*SHELL_NAMES, "read", "write")
_LISTS = ("allow", "names", "enabled")  # keys of the tools table that may hold the allowed names


class Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)


class ModelPart(Part):
    max_tokens: int = Field(64, ge=1)

    @property
    def bounded(self) -> int:
        """A turn samples no more than Sampling allows, whatever a document made for another runtime says."""
        return min(self.max_tokens, 8192)


class ProviderOptions(Part):
    temperature: float = Field(1.0, ge=0, le=5)
    top_p: float = Field(1.0, gt=0, le=1)


class Embedded(Part):
    """A file inside the document; its checksum and path are verified whatever its kind."""

    kind: str
    path: str
    encoding: Literal["utf-8", "base64"] = "utf-8"
    content: str
    sha256: str
    triggers: tuple[str, ...] = ()  # ours: words that call a skill; its name where there are none

    @model_validator(mode="after")
    def _sound(self) -> "Embedded":
        path = PurePosixPath(self.path)
        if not self.path or path.is_absolute() or ".." in path.parts or "\\" in self.path or "\0" in self.path:
            raise ValueError(f"path {self.path!r} must be relative, without '..'")
        if hashlib.sha256(self.data()).hexdigest() != self.sha256:
            raise ValueError(f"sha256 of {self.path!r} does not match its content")
        if self.kind == "skill":
            self.skill()
        return self

    def data(self) -> bytes:
        if self.encoding == "utf-8":
            return self.content.encode()
        try:
            return base64.b64decode(self.content, validate=True)
        except binascii.Error:
            raise ValueError(f"content of {self.path!r} is not base64") from None

    def skill(self) -> Skill:
        """A skill is named by its folder (`skills/NAME/SKILL.md`), or by its file."""
        path = PurePosixPath(self.path)
        name = path.parent.name if path.name == "SKILL.md" and path.parent.name else path.stem
        try:
            return Skill(name=name, triggers=self.triggers or (name,), text=self.data().decode())
        except UnicodeDecodeError:
            raise ValueError(f"skill {self.path!r} is not UTF-8 text") from None


class Resources(Part):
    system_prompt: str = ""
    append_system_prompts: tuple[str, ...] = ()
    embedded: tuple[Embedded, ...] = ()


class StopPart(Part):
    command: str | None = None
    timeout: float = Field(5.0, gt=0, le=60)
    builtin: Literal["no_action", "empty_output", "error_exit"] | None = None
    message: str = "The work does not pass its own check yet. Correct it."
    max_blocks: int = Field(1, ge=1, le=5)
    fail: Literal["open", "closed"] = "open"

    @model_validator(mode="after")
    def _one(self) -> "StopPart":
        if (self.command is None) == (self.builtin is None):
            raise ValueError("give exactly one of 'command' and 'builtin'")
        return self

    def hook(self, name: str) -> StopHook:
        return StopHook(name=name, **self.model_dump())


class Hooks(Part):
    Stop: dict[str, StopPart] = Field(default_factory=dict)


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


class RsiPart(Part):
    parent: str | None = None
    protocol: Literal["text"] = "text"
    list_files: bool = False
    answer: Answer = Answer()
    budgets: BudgetsPart = BudgetsPart()
    exemplars: Exemplars = Exemplars()
    skills: tuple[SkillPart, ...] = ()


class Form(Part):
    version: Literal[1]
    model: ModelPart = ModelPart()
    provider_options: ProviderOptions = ProviderOptions()
    tools: Any = None
    no_tools: str | None = None
    resources: Resources = Resources()
    hooks: Hooks = Hooks()
    rsi: RsiPart = RsiPart()

    @field_validator("tools")
    @classmethod
    def _names(cls, tools: Any) -> Any:
        table = tools if isinstance(tools, dict) else {"allow": tools}
        for key in _LISTS:
            listed = table.get(key)
            if isinstance(listed, list) and not all(isinstance(name, str) for name in listed):
                raise ValueError("names of tools must be strings")
        if not isinstance(tools, list | str | dict | None):
            raise ValueError("a list of names, a string of them or a table is expected")
        return tools

    def sampling(self) -> Sampling:
        options = self.provider_options
        return Sampling(temperature=options.temperature, top_p=options.top_p, max_new_tokens=self.model.bounded)

    def allowed(self) -> tuple[str, ...]:
        """Names of the allowed tools as written. A non-empty list wins over disabling; nothing said means the shell."""
        table = self.tools if isinstance(self.tools, dict) else {"allow": self.tools}
        listed = next((table[key] for key in _LISTS if isinstance(table.get(key), list | str)), None)
        names = [n.strip() for n in listed.split(",")] if isinstance(listed, str) else listed
        if names:
            return tuple(name for name in names if name)
        return () if listed is not None or self.disabled() else ("shell",)

    def disabled(self) -> bool:
        table = self.tools if isinstance(self.tools, dict) else {}
        switches = ("enabled", "builtin", "builtins", "builtin_tools", "builtinTools")
        off = any(table.get(key) is False for key in switches) or table.get("mode") == "none"
        return off or "all" in (table.get("no_tools"), self.no_tools)
