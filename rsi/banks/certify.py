"""A task's proof of itself, without a model: its reference passes, doing nothing fails, repeats agree."""

from collections.abc import Mapping

from rsi.errors import InfrastructureError, TamperError
from rsi.harness.furnish import furnish
from rsi.ports import SandboxProvider, Verifier
from rsi.types import Certificate, Task, TaskKey

REFERENCE_SECONDS = 10.0


async def certify(
    task: Task, key: TaskKey, verifier: Verifier, provider: SandboxProvider | None, repeats: int = 3
) -> Certificate:
    """Each repeat starts from the task's files again. Raises InfrastructureError, never blames the task for it."""
    results = []
    for _ in range(repeats):
        results.append((await _reference(task, key, verifier, provider), await _nothing(task, key, verifier)))
    passes, idle = zip(*results, strict=True)
    reasons = {
        "its reference does not pass": not all(passes),
        "doing nothing passes": any(idle),
        f"{repeats} repeats disagree": len(set(results)) > 1,
    }
    reason = "; ".join(text for text, holds in reasons.items() if holds)
    return Certificate(
        task_id=task.id,
        passed=not reason,
        reference_passes=all(passes),
        nothing_fails=not any(idle),
        repeats=repeats,
        repeats_agree=len(set(results)) == 1,
        reason=reason,
    )


async def _reference(task: Task, key: TaskKey, verifier: Verifier, provider: SandboxProvider | None) -> bool:
    if not task.needs_sandbox:
        return (await verifier.verify(task, key, key.reference, _files(task))).passed
    if provider is None:
        raise InfrastructureError(f"task {task.id} needs a sandbox to be certified and none is configured")
    sandbox = await provider.open()
    try:
        await furnish(task, sandbox)
        result = await sandbox.exec(key.reference, REFERENCE_SECONDS)
        files = await sandbox.get()
    except TamperError:
        return False
    finally:
        await sandbox.close()
    return (await verifier.verify(task, key, result.stdout, files)).passed


async def _nothing(task: Task, key: TaskKey, verifier: Verifier) -> bool:
    return (await verifier.verify(task, key, "", _files(task))).passed


def _files(task: Task) -> Mapping[str, bytes]:
    return {path: text.encode() for path, text in task.files.items()}
