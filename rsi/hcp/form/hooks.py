"""[hooks]: commands and conditions at events of an episode, in the compact form (see `rsi.hcp.form.normal`)."""

from collections.abc import Iterator, Mapping
from typing import Literal

from pydantic import Field, model_validator

from rsi.hcp.form.part import Part
from rsi.types import Hook, HookEvent, StopHook

STOP_MESSAGE = "The work does not pass its own check yet. Correct it."


class HookPart(Part):
    matcher: str = ""
    command: str | None = None
    timeout: float = Field(5.0, gt=0, le=60)
    condition: str = ""
    run_async: bool = False
    message: str = ""
    max_blocks: int = Field(1, ge=1, le=5)
    fail: Literal["open", "closed"] = "open"

    @model_validator(mode="after")
    def _one(self) -> "HookPart":
        if not self.command:
            raise ValueError("give a 'command'")
        return self

    def hook(self, event: HookEvent, name: str) -> Hook:
        return Hook(event=event, name=name, **self.model_dump())


class StopPart(HookPart):
    builtin: Literal["no_action", "empty_output", "error_exit"] | None = None
    message: str = STOP_MESSAGE

    @model_validator(mode="after")
    def _one(self) -> "StopPart":
        if (self.command is None) == (self.builtin is None):
            raise ValueError("give exactly one of 'command' and 'builtin'")
        return self

    def stop(self, name: str) -> StopHook:
        return StopHook(name=name, **self.model_dump(include=set(StopHook.model_fields) - {"name"}))


class Hooks(Part):
    SessionStart: dict[str, HookPart] = Field(default_factory=dict)
    SessionEnd: dict[str, HookPart] = Field(default_factory=dict)
    UserPromptSubmit: dict[str, HookPart] = Field(default_factory=dict)
    PreToolUse: dict[str, HookPart] = Field(default_factory=dict)
    PostToolUse: dict[str, HookPart] = Field(default_factory=dict)
    PostToolUseFailure: dict[str, HookPart] = Field(default_factory=dict)
    Stop: dict[str, StopPart] = Field(default_factory=dict)
    PreCompact: dict[str, HookPart] = Field(default_factory=dict)
    PostCompact: dict[str, HookPart] = Field(default_factory=dict)

    def all(self) -> Iterator[Hook]:
        """Every hook, by event in the order of an episode, then in the order of names."""
        tables: dict[HookEvent, Mapping[str, HookPart]] = {
            "SessionStart": self.SessionStart,
            "UserPromptSubmit": self.UserPromptSubmit,
            "PreToolUse": self.PreToolUse,
            "PostToolUse": self.PostToolUse,
            "PostToolUseFailure": self.PostToolUseFailure,
            "Stop": self.Stop,
            "PreCompact": self.PreCompact,
            "PostCompact": self.PostCompact,
            "SessionEnd": self.SessionEnd,
        }
        for event, table in tables.items():
            yield from (part.hook(event, name) for name, part in table.items())
