"""What people wrote for a run, read and found to fit, and the place that it has on this machine."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from rsi.banks.catalogue import load_catalogue
from rsi.banks.definition import load_definition
from rsi.banks.generated import GeneratedBank, open_bank
from rsi.banks.salt import load_salt, salt_digest
from rsi.config import RunSettings, home
from rsi.errors import UserError
from rsi.gate.binding import check_bound
from rsi.gate.contract import Contract, load_contract
from rsi.hcp.document import Document
from rsi.ports import SandboxProvider
from rsi.types import Edit
from rsi.wiring.browser import judge_limits
from rsi.wiring.founding import founding
from rsi.wiring.paths import bank_folder, inside, start_document
from rsi.wiring.sandbox import sandbox_of

Say = Callable[[str], None]


@dataclass(frozen=True)
class Place:
    """Where a run takes place: its settings as they hold here, the bank, the sandbox."""

    settings: RunSettings
    bank: GeneratedBank
    provider: SandboxProvider | None

    @property
    def identity(self) -> str:
        return self.provider.identity if self.provider is not None else "none"

    @property
    def limits(self) -> Mapping[str, str]:
        """For the run's record: the sandbox, and which of its limits hold on this machine and how."""
        held = self.provider.limits if self.provider is not None else {}
        judging = judge_limits() if self.bank.definition.in_browser else {}
        return {"sandbox": self.identity, **held, **judging}


async def find_place(settings: RunSettings, say: Say) -> Place:
    """Probe the sandbox and open the bank; without a sandbox, the fallback bank in a lineage of its own, said aloud."""
    folder = bank_folder(settings.bank)
    definition = load_definition(folder, settings.difficulty)
    provider, reasons = await sandbox_of(definition, folder, settings.sandbox)
    if provider is not None or not definition.runs_code:
        bank = open_bank(folder, load_salt(home()), settings.difficulty, provider)
        return Place(settings, bank, provider if definition.needs_sandbox else None)
    if settings.fallback_bank is None:
        raise UserError(f"bank '{settings.bank}' needs a sandbox and none starts here: {'; '.join(reasons)}")
    say(f"no sandbox ({'; '.join(reasons)}): bank '{settings.fallback_bank}' alone is run, not '{settings.bank}'")
    lineage = f"{settings.lineage}-{settings.fallback_bank}"
    chosen = {"bank": settings.fallback_bank, "fallback_bank": None, "lineage": lineage}
    return await find_place(settings.model_copy(update=chosen), say)


@dataclass(frozen=True)
class Inputs:
    """What people wrote, read and found to fit: the place with the model that the document names, where the settings
    leave it to the document."""

    place: Place
    contract: Contract
    catalogue: Sequence[Edit]
    document: Document  # the founding one


async def read(settings: RunSettings, say: Say) -> Inputs:
    place = await find_place(settings, say)
    folder, bank = bank_folder(place.settings.bank), place.bank.definition
    contract = load_contract(inside(place.settings.contract))
    document, chosen = founding(place.settings, start_document(place.settings.start, folder))
    salt = salt_digest(load_salt(home()))
    check_bound(contract, bank.name, salt, chosen.seed, chosen.model.id, chosen.gate.canaries)
    known = set(bank.families)  # the run may have cut the bank
    edits = [edit for edit in load_catalogue(folder) if set(edit.families) <= known]
    return Inputs(replace(place, settings=chosen), contract, edits, document)
