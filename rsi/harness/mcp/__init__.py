"""MCP servers over stdio, inside the sandbox: started with an episode, ended with its sandbox."""

from rsi.harness.mcp.client import McpTool, call, list_tools, start
from rsi.harness.mcp.toolset import mcp_tools

__all__ = ["McpTool", "call", "list_tools", "mcp_tools", "start"]
