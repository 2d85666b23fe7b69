"""The whole form: every realised section, and the tool policy."""

from typing import Any, Literal

from pydantic import field_validator

from rsi.hcp.form.environment import EnvPart, RunPart
from rsi.hcp.form.hooks import Hooks
from rsi.hcp.form.mcp import McpPart
from rsi.hcp.form.model import ModelPart, ProviderOptions
from rsi.hcp.form.ours import RsiPart
from rsi.hcp.form.part import Part
from rsi.hcp.form.resources import Resources
from rsi.hcp.form.session import SessionPart
from rsi.hcp.form.sources import Sources
from rsi.hcp.form.workspace import WorkspacePart
from rsi.types import Sampling

SHELL_NAMES = ("shell", "bash")  # RFC-0002 calls it bash
TOOLS = (*SHELL_NAMES, "read", "write")
_LISTS = ("allow", "names", "enabled")  # keys of the tools table that may hold the allowed names


class Form(Part):
    version: Literal[1]
    run: RunPart = RunPart()
    env: EnvPart = EnvPart()
    model: ModelPart = ModelPart()
    provider_options: ProviderOptions = ProviderOptions()
    tools: Any = None
    no_tools: str | None = None
    skills: Sources = Sources()
    prompt_templates: Sources = Sources()
    resources: Resources = Resources()
    workspace: WorkspacePart = WorkspacePart()
    mcp: McpPart = McpPart()
    hooks: Hooks = Hooks()
    session: SessionPart = SessionPart()
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
