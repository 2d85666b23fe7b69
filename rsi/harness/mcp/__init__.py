"""MCP servers over stdio, inside the sandbox: started with an episode, ended with its sandbox."""

from rsi.harness.mcp.client import McpTool, call, list_tools, start

__all__ = ["McpTool", "call", "list_tools", "start"]
