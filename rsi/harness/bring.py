"""What the document, not the task, brings to an episode's sandbox: files, variables."""

from rsi.harness.exported import Exported
from rsi.harness.place import place
from rsi.ports import Sandbox
from rsi.types import HarnessConfig


async def bring(harness: HarnessConfig, sandbox: Sandbox) -> Sandbox:
    """Put the document's files, before the task's own, which win. Returns the sandbox that commands are to use."""
    await place(harness.files, sandbox)
    return Exported(sandbox, harness.env_set) if harness.env_set else sandbox
