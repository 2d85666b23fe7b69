"""Action protocols: how a reply becomes an action and how the action is taken. The harness configuration names one."""

from collections.abc import Sequence
from typing import Protocol

from rsi.harness.protocol import Action
from rsi.harness.protocols.history import answers, sendable
from rsi.harness.protocols.repl import ReplProtocol
from rsi.harness.protocols.text import TextProtocol
from rsi.harness.protocols.tools import ToolsProtocol
from rsi.harness.repl import Guard, Tool
from rsi.harness.tools import Outcome
from rsi.ports import Sandbox
from rsi.types import Completion, HarnessConfig, Message, StagedTool, ToolSpec

__all__ = ["ActionProtocol", "answers", "chosen", "introduced", "sendable"]


class ActionProtocol(Protocol):
    """One episode's protocol. `stop` ends a model turn; `intro` is added to what the model is shown first."""

    @property
    def stop(self) -> tuple[str, ...]: ...

    @property
    def intro(self) -> str: ...

    @property
    def offered(self) -> tuple[ToolSpec, ...]:
        """What the model may call natively."""

    @property
    def staged(self) -> tuple[StagedTool, ...]:
        """Functions that the agent saved in this episode."""

    def read(self, completion: Completion) -> Action | None:
        """The action of a reply, or None; an answer is an action of kind `answer`. Linear in the reply's length."""

    async def use(self, action: Action, timeout: float) -> Outcome:
        """Take an action that `read` gave, for at most `timeout` seconds. Raises InfrastructureError only."""


def chosen(
    harness: HarnessConfig, sandbox: Sandbox | None, toolset: Sequence[Tool], guard: Guard | None = None
) -> ActionProtocol:
    """The protocol that the harness names. `guard` is asked before each call that a block of code makes."""
    text = TextProtocol(harness.tools if sandbox is not None else (), sandbox, harness.budgets.output_chars)
    if harness.protocol == "tools":
        return ToolsProtocol(text, toolset)
    return ReplProtocol(text, sandbox, toolset, harness.helpers, guard) if harness.protocol == "repl" else text


def introduced(messages: Sequence[Message], intro: str) -> list[Message]:
    """The opening with a protocol's own words at the end of its system message."""
    if not intro:
        return list(messages)
    if messages and messages[0].role == "system":
        return [Message(role="system", content=f"{messages[0].content}\n\n{intro}"), *messages[1:]]
    return [Message(role="system", content=intro), *messages]
