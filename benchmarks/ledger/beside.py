"""Anchor, clock, and the rows beside the ledger."""

import time

from benchmarks.ledger.victim import (
    FIRST,
    LOOKS,
    SECOND,
    STRANGER,
    THIRD,
    Attack,
    Faults,
    Victim,
    look,
    verdict,
)
from rsi.errors import RsiError
from rsi.gate.ledger import Anchor, Entry, append
from rsi.ids import canonical
from rsi.registry import anchors
from rsi.registry.looks import Looks


def anchor_deleted(v: Victim) -> Faults:
    anchors.anchor_file(v.database.anchors, "main").unlink()
    return v.verify()


def anchor_damaged(v: Victim) -> Faults:
    anchors.anchor_file(v.database.anchors, "main").write_text("{")
    return v.verify()


def anchor_of_another_lineage(v: Victim) -> Faults:
    v.anchor(Anchor(lineage="other", seq=v.seq("promotion"), hash=v.entries()[-1].hash))
    return v.verify()


def anchor_rolled_back_with_the_chain(v: Victim) -> Faults:
    """Chain and anchor cut off together; the rows are left."""
    return v.rewrite(v.entries()[: v.seq("verdict", 0)], move_anchor=True)


def everything_rolled_back_but_the_second_anchor(v: Victim) -> Faults:
    """Store and file restored from an older copy; MLflow's tag knows more."""
    entries = v.entries()
    tag = Anchor(lineage="main", seq=entries[-1].seq, hash=entries[-1].hash)
    v.rewrite(entries[: v.seq("verdict", 0)], move_anchor=True)
    truncate_with_rows_only(v)
    return v.ledger.verify("main", tag)


def truncate_with_rows_only(v: Victim) -> Faults:
    return v.sql(
        "DELETE FROM promotions WHERE kind = 'promotion'",
        f"DELETE FROM verdicts WHERE look = '{LOOKS[1].digest}'",
        f"DELETE FROM looks WHERE digest = '{LOOKS[1].digest}'",
    )


def clock_moved_back_in_the_chain(v: Victim) -> Faults:
    entries = v.entries()
    changes = {"seq": len(entries) + 1, "kind": "review", "body": "{}", "at": 1.0, "previous": entries[-1].hash}
    early = Entry.model_validate({**entries[-1].model_dump(), **changes})
    return v.rewrite([*entries, early.model_copy(update={"hash": early.computed()})])


def entry_of_the_future(v: Victim) -> Faults:
    entries = v.entries()
    return v.rewrite([*entries, append(entries[-1], "main", "review", "{}", time.time() + 86400)])


def verdict_row_edited(v: Victim) -> Faults:
    return v.sql(f"UPDATE verdicts SET decision = 'promote' WHERE look = '{LOOKS[1].digest}'")


def verdict_row_edited_and_promoted(v: Victim) -> Faults:
    """The forged decision is used before anyone looks: the promotion must be refused too."""
    found = verdict_row_edited(v)
    try:
        v.champions.promote("main", THIRD.pair.digest, LOOKS[1].digest)
    except RsiError:
        return found
    return []


def verdict_row_deleted(v: Victim) -> Faults:
    return v.sql(f"DELETE FROM verdicts WHERE look = '{LOOKS[1].digest}'")


def verdict_row_forged(v: Victim) -> Faults:
    forged = look(3, SECOND, STRANGER)
    v.looks.open(forged)
    return v.sql(f"INSERT INTO verdicts VALUES ('{forged.digest}', 'promote', 0.0, '{{}}')")


def verdict_that_promotes_without_a_clause(v: Victim) -> Faults:
    """By the holder of the lease, through the same functions as the gate."""
    new = look(3, SECOND, STRANGER)
    v.looks.open(new)
    try:
        v.looks.close(verdict(new, "promote").model_copy(update={"clauses": ()}))
    except RsiError as error:
        return [str(error)]
    return v.verify()


def verdict_that_promotes_with_a_clause_that_failed(v: Victim) -> Faults:
    new = look(3, SECOND, STRANGER)
    v.looks.open(new)
    good = verdict(new, "promote")
    failed = good.clauses[0].model_copy(update={"name": "no harm", "held": False})
    try:
        v.looks.close(good.model_copy(update={"clauses": (*good.clauses, failed)}))
    except RsiError as error:
        return [str(error)]
    return v.verify()


def verdict_that_promotes_on_other_evidence(v: Victim) -> Faults:
    new = look(3, SECOND, STRANGER)
    v.looks.open(new)
    try:
        v.looks.close(verdict(new, "promote").model_copy(update={"digests": verdict(LOOKS[0], "promote").digests}))
    except RsiError as error:
        return [str(error)]
    return v.verify()


def verdict_by_somebody_without_the_lease(v: Victim) -> Faults:
    new = look(3, SECOND, STRANGER)
    v.looks.open(new)
    try:
        Looks(v.database, None, v.key).close(verdict(new, "promote"))
    except RsiError as error:
        return [str(error)]
    return v.verify()


def look_row_edited(v: Victim) -> Faults:
    return v.sql(f"UPDATE looks SET candidate = '{STRANGER.pair.digest}' WHERE generation = 1")


def look_row_deleted_for_another_try(v: Victim) -> Faults:
    return v.sql(f"DELETE FROM verdicts WHERE look = '{LOOKS[1].digest}'", "DELETE FROM looks WHERE generation = 2")


def look_budget_edited(v: Victim) -> Faults:
    return v.sql("UPDATE looks SET body = replace(body, '\"alpha\":0.01', '\"alpha\":0.0')")


def promotion_row_forged(v: Victim) -> Faults:
    return v.sql(
        f"INSERT INTO promotions VALUES (9, 'main', '{THIRD.pair.digest}', '{SECOND.pair.digest}', 'promotion', "
        f"'{LOOKS[1].digest}', 'the verdict on this look', 0.0)"
    )


def promotion_row_edited(v: Victim) -> Faults:
    return v.sql(f"UPDATE promotions SET pair = '{THIRD.pair.digest}' WHERE kind = 'promotion'")


def promotion_row_deleted(v: Victim) -> Faults:
    return v.sql("DELETE FROM promotions WHERE kind = 'promotion'")


def champion_document_swapped(v: Victim) -> Faults:
    return v.sql(f"UPDATE pairs SET body = replace(body, 'a1''', 'evil''') WHERE pair = '{SECOND.pair.digest}'")


def newer_record_with_another_document(v: Victim) -> Faults:
    forged = FIRST.model_copy(update={"document": "version = 1"})
    body = canonical(forged).decode().replace("'", "''")
    return v.sql(
        "INSERT INTO pairs (lineage, entry, pair, generation, body_digest, published_at, body) "
        f"VALUES ('main', 9999, '{forged.pair.digest}', 0, '{forged.digest}', 0.0, '{body}')"
    )


def champion_record_deleted(v: Victim) -> Faults:
    return v.sql(f"DELETE FROM pairs WHERE pair = '{SECOND.pair.digest}'")


ATTACKS: tuple[Attack, ...] = (
    anchor_deleted,
    anchor_damaged,
    anchor_of_another_lineage,
    anchor_rolled_back_with_the_chain,
    everything_rolled_back_but_the_second_anchor,
    clock_moved_back_in_the_chain,
    entry_of_the_future,
    verdict_that_promotes_without_a_clause,
    verdict_that_promotes_with_a_clause_that_failed,
    verdict_that_promotes_on_other_evidence,
    verdict_by_somebody_without_the_lease,
    verdict_row_edited,
    verdict_row_edited_and_promoted,
    verdict_row_deleted,
    verdict_row_forged,
    look_row_edited,
    look_row_deleted_for_another_try,
    look_budget_edited,
    promotion_row_forged,
    promotion_row_edited,
    promotion_row_deleted,
    champion_document_swapped,
    newer_record_with_another_document,
    champion_record_deleted,
)
