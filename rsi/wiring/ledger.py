"""The ledger of a lineage as a run and people meet it: the key that signs, the check before a run, the findings."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rsi.config import RunSettings
from rsi.errors import IntegrityError, UserError
from rsi.gate.ledger import Entry
from rsi.registry.champions import Champions
from rsi.registry.engine import Database
from rsi.registry.ledger import Ledger, anchor
from rsi.registry.pairs import Mirror
from rsi.wiring.artifacts import damages
from rsi.wiring.results import opened


def key_of(settings: RunSettings) -> bytes | None:
    """The key that signs, or None. Settings, or RSI_LEDGER_KEY_ENV, name the environment variable that holds it.
    UserError where that one is empty."""
    name = settings.ledger_key_env or os.environ.get("RSI_LEDGER_KEY_ENV")
    if not name:
        return None
    if not (value := os.environ.get(name)):
        raise UserError(f"the ledger's key: environment variable '{name}' is not set; set it, or name another")
    return value.encode()


def hold(settings: RunSettings, database: Database, key: bytes | None, say: Callable[[str], None]) -> None:
    """Before a run: its ledger is whole, and what a crash left undone (anchor, MLflow's alias and tag) is made good.

    IntegrityError names the first fault. UserError where the chain is signed and there is no key, or the other way."""
    lineage, mirror = settings.lineage, Mirror(say)
    ledger = Ledger(database, key=key)
    found = _recorded(settings, database, key, mirror)
    if found:
        more = f" ({len(found) - 1} more)" if len(found) > 1 else ""
        raise IntegrityError(
            f"lineage '{lineage}': its ledger cannot be believed, so nothing is run: {found[0]}{more}; "
            "`rsi ledger verify` names all, docs/ledger.md says what to do"
        )
    if key is None and any(entry.signature for entry in ledger.entries(lineage)):
        raise UserError(f"lineage '{lineage}': its ledger is signed; name the key's variable in 'ledger_key_env'")
    anchor(database, lineage)
    champion, head = Champions(database).current(lineage), ledger.head(lineage)
    if champion is None or head is None:
        return
    mirror.repair(champion, head)


def faults(settings: RunSettings, database: Database, key: bytes | None, mirror: Mirror) -> list[str]:
    """What is wrong with the ledger, by MLflow's anchor too, and with the files that it names by digest."""
    return [*_recorded(settings, database, key, mirror), *damages(settings.lineage, database)]


def _recorded(settings: RunSettings, database: Database, key: bytes | None, mirror: Mirror) -> list[str]:
    return Ledger(database, key=key).verify(settings.lineage, mirror.anchor(settings.lineage))


@dataclass(frozen=True)
class Findings:
    entries: Sequence[Entry]  # empty where they cannot be read
    faults: Sequence[str]


def examine(settings: RunSettings, say: Callable[[str], None]) -> Findings:
    """A lineage's ledger, and what is wrong with it."""
    key = key_of(settings)
    with opened() as database:
        found = faults(settings, database, key, Mirror(say))
        try:
            return Findings(Ledger(database).entries(settings.lineage), found)
        except IntegrityError:
            return Findings((), found)
