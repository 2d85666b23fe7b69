"""What a hook is told: RFC-0002's JSON on standard input. It holds what the agent could see, nothing of a verifier."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Event = Literal[
    "SessionStart", "SessionEnd", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure",
    "Stop", "PreCompact", "PostCompact",
]  # fmt: skip
DIRECTORY = "/task"
MOST_BYTES = 80_000  # of a payload; as base64 it must fit into one argument of 128 KiB beside the hook's own command
_CUTS = (14_000, 1500)  # characters kept of each text, tried in turn; control characters take six bytes in JSON


@dataclass(frozen=True)
class Occasion:
    """One event of an episode. `tool_input` holds `command`, or `path` and `content`; `output` and `exit_code` are of
    the last command. `acted`: the last reply held an action or an answer."""

    event: Event
    session: str = ""
    tool: str = ""
    tool_input: Mapping[str, str] = field(default_factory=dict)
    prompt: str = ""
    output: str = ""
    exit_code: int | None = None
    acted: bool = True
    blocks: int = 0  # how often Stop hooks have held this turn back already

    @property
    def argument(self) -> str:
        """What a condition's pattern is compared with."""
        told = self.tool_input
        return told.get("command") or told.get("path") or told.get("content", "")  # of a call: its arguments as JSON

    def payload(self) -> tuple[str, bool]:
        """The JSON line, and whether texts in it were cut."""
        for cut in _CUTS:
            text = json.dumps(self._fields(cut), ensure_ascii=False)
            if len(text.encode(errors="replace")) <= MOST_BYTES:
                break
        return text, any(len(part) > cut for part in (*self.tool_input.values(), self.prompt, self.output))

    def _fields(self, cut: int) -> dict[str, object]:
        fields: dict[str, object] = {"hook_event_name": self.event, "session_id": self.session, "cwd": DIRECTORY}
        if self.event in ("PreToolUse", "PostToolUse", "PostToolUseFailure"):
            fields |= {"tool_name": self.tool, "tool_input": {k: v[:cut] for k, v in self.tool_input.items()}}
        if self.event in ("PostToolUse", "PostToolUseFailure"):
            fields["tool_response"] = {"output": self.output[:cut], "exit_code": self.exit_code}
        if self.event == "UserPromptSubmit":
            fields["prompt"] = self.prompt[:cut]
        if self.event == "Stop":
            fields |= {"stop_hook_active": self.blocks > 0, "acted": self.acted}
            fields |= {"last_output": self.output[:cut], "last_exit_code": self.exit_code}
        return fields
