"""Pairs by name: two side by side, the lineage, and the way back."""

from collections.abc import Sequence

from rsi.config import RunSettings
from rsi.errors import UserError
from rsi.registry.champions import Champions, Promotion
from rsi.registry.compare import find
from rsi.registry.lease import acquire
from rsi.registry.ledger import Ledger
from rsi.registry.pairs import Mirror
from rsi.registry.store import SqlStore
from rsi.results import Results
from rsi.types import PairRecord
from rsi.wiring.artifacts import check_adapters, damages
from rsi.wiring.ledger import hold, key_of
from rsi.wiring.results import head_line, opened


def find_pair(records: Sequence[PairRecord], name: str) -> PairRecord:
    """The pair whose digest begins with `name`, or of "gen3". UserError unless exactly one is meant."""
    if len(found := find(records, name)) != 1:
        known = ", ".join(record.pair.name for record in records) or "none"
        raise UserError(f"pair '{name}': {len(found)} pairs are named so; the lineage's pairs: {known}")
    return found[0]


def lineage(settings: RunSettings) -> tuple[Sequence[PairRecord], Sequence[Promotion]]:
    """Every pair, and every step of the champion."""
    with opened() as database:
        champions = Champions(database)
        return champions.lineage(settings.lineage), champions.history(settings.lineage)


def damaged_files(settings: RunSettings) -> Sequence[str]:
    """What of the files of adapters and base is not what the lineage's record names."""
    with opened() as database:
        return damages(settings.lineage, database)


def ledger_head(settings: RunSettings) -> str:
    with opened() as database:
        return head_line(settings, database)


def rollback(settings: RunSettings, to: str, reason: str) -> PairRecord:
    """Make an earlier champion champion again, in the store and then in MLflow's aliases.

    UserError in the midst of a generation, but for one that its canaries stopped."""
    with opened() as database, acquire(database, settings.lineage, "rsi rollback") as lease:
        results = Results(settings.lineage, SqlStore(database), Champions(database))
        begun = results.done(n := results.next_owed(), "start") and not results.done(n, "promotion")
        if begun and not results.stopped(n):
            raise UserError(f"generation {n} of '{settings.lineage}' is under way; let `rsi run` finish it first")
        key, mirror = key_of(settings), Mirror(print)
        hold(settings, database, key, print)
        for past in Champions(database).lineage(settings.lineage):
            if past.pair.digest.startswith(to):
                check_adapters(past)
        record = Champions(database, lease, key).rollback(settings.lineage, to, reason)
        head = Ledger(database).head(settings.lineage)
    mirror.aliases(settings.lineage, record)
    if head is not None:
        mirror.tag(head)
    return record
