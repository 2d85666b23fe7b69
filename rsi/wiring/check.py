"""Whole banks checked on this machine."""

from collections.abc import Callable, Sequence

from rsi.banks.catalogue import load_catalogue
from rsi.banks.check import CheckRow, check_bank
from rsi.banks.definition import load_definition
from rsi.banks.generated import open_bank
from rsi.banks.salt import load_salt
from rsi.config import home, project_root
from rsi.errors import UserError
from rsi.hcp.document import load
from rsi.types import Certificate
from rsi.wiring.browser import missing
from rsi.wiring.certificates import Prover
from rsi.wiring.paths import bank_folder
from rsi.wiring.sandbox import sandbox_of


def shipped_banks() -> list[str]:
    return sorted(path.parent.name for path in (project_root() / "task_banks").glob("*/bank.toml"))


def without_tools(name: str) -> str:
    """Why a bank that ships cannot be checked here, where its tools are missing; else empty."""
    return missing() if load_definition(bank_folder(name)).in_browser else ""


async def check_whole_bank(name: str, sample: int | None, progress: Callable[[int, int], None]) -> Sequence[CheckRow]:
    """One row a family and split; every certificate goes to the home. UserError where the bank needs a sandbox and none
    starts, or its catalogue or a document of its own is malformed."""
    folder = bank_folder(name)
    definition = load_definition(folder)
    provider, reasons = await sandbox_of(definition, folder, "auto")
    if provider is None and definition.runs_code:
        raise UserError(f"bank '{name}' needs a sandbox and none starts here: {'; '.join(reasons)}")
    load_catalogue(folder)
    for document in sorted((folder / "harness").glob("*.toml")):
        load(document).harness()
    bank = open_bank(folder, load_salt(home()), provider=provider)
    prover = Prover(bank, provider, fresh=True)

    def keep(certificate: Certificate) -> None:
        prover.book.add([certificate])

    return await check_bank(bank, prover, sample, keep, progress)
