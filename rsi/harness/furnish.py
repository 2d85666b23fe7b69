"""What stands in the workspace before the agent sees it: a task's files and what its set-up makes of them."""

from rsi.errors import SetupError
from rsi.ports import Sandbox
from rsi.types import Task

SETUP_SECONDS = 20.0


async def furnish(task: Task, sandbox: Sandbox) -> None:
    """Put the task's files, then run its set-up. SetupError where that fails: no agent's doing."""
    if task.files:
        await sandbox.put({path: text.encode(errors="replace") for path, text in task.files.items()})
    if not task.setup:
        return
    result = await sandbox.exec(task.setup, SETUP_SECONDS)
    if result.exit_code:
        why = " ".join((result.stderr or result.stdout).split())[:200]
        raise SetupError(f"the set-up of task {task.id} exited {result.exit_code}: {why}")
