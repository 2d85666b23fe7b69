"""What every sandbox must do, as checks that take a provider. Run on each implementation; each check attacks or uses
a sandbox for real."""

import inspect
from collections.abc import Awaitable, Callable

import conformance_commands
import conformance_files
import conformance_life
import conformance_limits
import conformance_walls

from rsi.ports import SandboxProvider

Check = Callable[[SandboxProvider], Awaitable[None]]
SUBJECTS = (conformance_commands, conformance_walls, conformance_limits, conformance_files, conformance_life)
CHECKS: list[Check] = [
    function
    for subject in SUBJECTS
    for _, function in inspect.getmembers(subject, inspect.iscoroutinefunction)
    if function.__module__ == subject.__name__  # not what the file imports
]
