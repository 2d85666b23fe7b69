"""A signed lineage: the forger has the store and the anchor, not the key."""

from benchmarks.ledger.chain import rewrite_whole_chain_and_anchor
from benchmarks.ledger.histories import promotion_forged_on_a_rejection
from benchmarks.ledger.victim import (
    Attack,
    Faults,
    Note,
    Victim,
    rebuilt,
)
from rsi.registry.ledger import Ledger


def signed_chain_rewritten_unsigned(v: Victim) -> Faults:
    entries = v.entries()
    return v.rewrite(rebuilt(entries), move_anchor=True)


def signed_chain_rewritten_with_another_key(v: Victim) -> Faults:
    return v.rewrite(rebuilt(v.entries(), b"a key that the forger made up"), move_anchor=True)


def signature_forged(v: Victim) -> Faults:
    return v.sql(f"UPDATE ledger SET signature = '{'0' * 64}' WHERE seq = {v.seq('look')}")


def signature_removed(v: Victim) -> Faults:
    return v.sql(f"UPDATE ledger SET signature = NULL WHERE seq = {v.seq('look')}")


def signature_of_another_entry(v: Victim) -> Faults:
    n = v.seq("look")
    return v.sql(f"UPDATE ledger SET signature = (SELECT signature FROM ledger WHERE seq = {n - 1}) WHERE seq = {n}")


def unsigned_entry_appended(v: Victim) -> Faults:
    return v.forge("review", {"text": "approved"})


def written_without_the_key(v: Victim) -> Faults:
    Ledger(v.database, v.lease).append("main", "review", Note(text="approved"))
    return []


def written_with_another_key(v: Victim) -> Faults:
    Ledger(v.database, v.lease, b"another key").append("main", "review", Note(text="approved"))
    return v.verify()


ATTACKS: tuple[Attack, ...] = (
    signed_chain_rewritten_unsigned,
    signed_chain_rewritten_with_another_key,
    signature_forged,
    signature_removed,
    signature_of_another_entry,
    unsigned_entry_appended,
    written_without_the_key,
    written_with_another_key,
    rewrite_whole_chain_and_anchor,
    promotion_forged_on_a_rejection,
)
