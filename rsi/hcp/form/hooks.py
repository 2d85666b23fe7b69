"""[hooks]: commands and conditions at events of an episode."""

from typing import Literal

from pydantic import Field, model_validator

from rsi.hcp.form.part import Part
from rsi.types import StopHook


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
