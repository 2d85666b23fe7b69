"""A persistent Python namespace inside the sandbox, and the tools it may call through this side alone.

Knows a sandbox and a set of tools. It must not know a model, a task's key or a score.
"""

from rsi.harness.repl.interpreter import Block, Guard, Interpreter
from rsi.harness.repl.masking import Masked
from rsi.harness.repl.schema import tidy_schema
from rsi.harness.repl.toolset import Calls, Tool

__all__ = ["Block", "Calls", "Guard", "Interpreter", "Masked", "Tool", "tidy_schema"]
