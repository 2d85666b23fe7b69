"""[mcp]: servers of tools. Only those that speak over stdio inside the sandbox are realised."""

from typing import Literal

from pydantic import Field

from rsi.hcp.form.environment import Name
from rsi.hcp.form.part import Part
from rsi.types import McpServer


class ServerPart(Part):
    command: str = ""
    args: tuple[str, ...] = ()
    env: dict[Name, str] = Field(default_factory=dict)
    placement: Literal["bridge", "sandbox"] = "bridge"
    transport: Literal["stdio", "http", "sse"] = "stdio"

    def server(self, name: str) -> McpServer:
        """ValueError where it could only run on the host, or cannot be reached from a sandbox without network."""
        if self.placement == "bridge":
            raise ValueError(
                f"'mcp.servers.{name}.placement': it would run on the host, which no document may; write 'sandbox'"
            )
        if self.transport != "stdio":
            raise ValueError(f"'mcp.servers.{name}.transport': the sandbox has no network; write 'stdio'")
        if not self.command:
            raise ValueError(f"'mcp.servers.{name}.command' is missing; name the program that serves")
        return McpServer(name=name, command=self.command, args=self.args, env=self.env)


class McpPart(Part):
    servers: dict[Name, ServerPart] = Field(default_factory=dict)
    config_path: str | None = None  # a JSON file of the same shape; `rsi hcp pack` embeds it
