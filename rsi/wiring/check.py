"""A whole bank checked on this machine."""

from collections.abc import Callable, Sequence

from rsi.banks.check import CheckRow, check_bank
from rsi.banks.generated import open_bank
from rsi.banks.salt import load_salt
from rsi.config import home
from rsi.errors import UserError
from rsi.sandbox.probe import probe
from rsi.verify.checks import CheckVerifier
from rsi.wiring.paths import bank_folder


async def check_whole_bank(name: str, progress: Callable[[int, int], None]) -> Sequence[CheckRow]:
    """One row a family and split. UserError where the bank needs a sandbox and none starts."""
    bank = open_bank(bank_folder(name), load_salt(home()))
    provider, reasons = await probe("auto")
    if provider is None and bank.definition.needs_sandbox:
        raise UserError(f"bank '{name}' needs a sandbox and none starts here: {'; '.join(reasons)}")
    return await check_bank(bank, CheckVerifier(provider), provider, progress=progress)
