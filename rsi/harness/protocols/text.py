"""The text protocol: one fenced block or one answer tag a reply, taken by the shell and the file tools."""

from dataclasses import dataclass

from rsi.harness.protocol import Action, read_action, stop_strings
from rsi.harness.tools import Outcome, use
from rsi.ports import Sandbox
from rsi.types import Completion, StagedTool, ToolSpec


@dataclass(frozen=True)
class TextProtocol:
    """`limit`: characters of an observation. Without a sandbox `tools` is empty, so no action needs one."""

    tools: tuple[str, ...]
    sandbox: Sandbox | None
    limit: int
    intro: str = ""
    offered: tuple[ToolSpec, ...] = ()
    staged: tuple[StagedTool, ...] = ()

    @property
    def stop(self) -> tuple[str, ...]:
        return stop_strings(self.tools)

    def read(self, completion: Completion) -> Action | None:
        return read_action(completion.text, self.tools)

    async def use(self, action: Action, timeout: float) -> Outcome:
        assert self.sandbox is not None
        return await use(action, self.sandbox, timeout, self.limit)
