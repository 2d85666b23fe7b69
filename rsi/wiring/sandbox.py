"""The sandbox that a bank needs, found on this machine."""

from collections.abc import Sequence
from pathlib import Path

from rsi.banks.definition import BankDefinition
from rsi.config import home, project_root
from rsi.errors import UserError
from rsi.ports import SandboxProvider
from rsi.sandbox.host import check_not_bound
from rsi.sandbox.probe import Kind, probe
from rsi.wiring.browser import missing


async def sandbox_of(
    definition: BankDefinition, folder: Path, kind: Kind
) -> tuple[SandboxProvider | None, Sequence[str]]:
    """A provider that has run a command, or None with the reasons; None without reasons for a bank that needs none.

    UserError where the bank's tools are missing, or a sandbox could read what it must not."""
    if definition.in_browser and (lacks := missing()):
        raise UserError(f"bank '{definition.name}': {lacks}")
    if not definition.runs_code:
        return None, ()
    check_not_bound([project_root(), home(), folder])
    return await probe(kind, browser=definition.in_browser)
