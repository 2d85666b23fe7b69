"""Changes of the stored chain."""

import sqlite3

from benchmarks.ledger.victim import (
    LOOKS,
    Attack,
    Faults,
    Victim,
    rebuilt,
)
from rsi.gate.ledger import Entry, append


def edit_body(v: Victim) -> Faults:
    return v.sql(f"UPDATE ledger SET body = replace(body, 'reject', 'promote') WHERE seq = {v.seq('verdict')}")


def edit_kind(v: Victim) -> Faults:
    return v.sql(f"UPDATE ledger SET kind = 'review' WHERE seq = {v.seq('verdict')}")


def edit_time(v: Victim) -> Faults:
    return v.sql(f"UPDATE ledger SET at = at - 5 WHERE seq = {v.seq('verdict', 0)}")


def edit_and_rehash_one(v: Victim) -> Faults:
    entries, n = v.entries(), v.seq("verdict") - 1
    changed = entries[n].model_copy(update={"body": entries[n].body.replace("reject", "promote")})
    entries[n] = changed.model_copy(update={"hash": changed.computed()})
    return v.rewrite(entries)


def delete_middle(v: Victim) -> Faults:
    return v.sql(f"DELETE FROM ledger WHERE seq = {v.seq('look')}")


def delete_first(v: Victim) -> Faults:
    return v.sql("DELETE FROM ledger WHERE seq = 1")


def delete_and_renumber(v: Victim) -> Faults:
    n = v.seq("look")
    return v.sql(f"DELETE FROM ledger WHERE seq = {n}", f"UPDATE ledger SET seq = seq - 1 WHERE seq > {n}")


def truncate(v: Victim) -> Faults:
    return v.sql(f"DELETE FROM ledger WHERE seq > {v.seq('verdict', 0)}")


def truncate_with_rows(v: Victim) -> Faults:
    return v.sql(
        f"DELETE FROM ledger WHERE seq > {v.seq('verdict', 0)}",
        "DELETE FROM promotions WHERE kind = 'promotion'",
        f"DELETE FROM verdicts WHERE look = '{LOOKS[1].digest}'",
        f"DELETE FROM looks WHERE digest = '{LOOKS[1].digest}'",
    )


def empty_the_ledger(v: Victim) -> Faults:
    return v.sql("DELETE FROM ledger")


def empty_everything(v: Victim) -> Faults:
    tables = ("promotions", "verdicts", "looks", "pairs", "ledger")
    return v.sql(*(f"DELETE FROM {table}" for table in tables))


def reorder(v: Victim) -> Faults:
    n = v.seq("verdict", 0)
    return v.sql(
        f"UPDATE ledger SET seq = 9999 WHERE seq = {n}",
        f"UPDATE ledger SET seq = {n} WHERE seq = {n + 1}",
        f"UPDATE ledger SET seq = {n + 1} WHERE seq = 9999",
    )


def swap_bodies(v: Victim) -> Faults:
    entries, a, b = v.entries(), v.seq("verdict", 0) - 1, v.seq("verdict", 1) - 1
    one, two = entries[a], entries[b]
    entries[a], entries[b] = (one.model_copy(update={"body": two.body}), two.model_copy(update={"body": one.body}))
    return v.rewrite(entries)


def insert_in_the_middle(v: Victim) -> Faults:
    entries = v.entries()
    added = append(entries[2], "main", "review", '{"text":"approved"}', entries[2].at)
    later = [entry.model_copy(update={"seq": entry.seq + 1}) for entry in entries[3:]]
    return v.rewrite([*entries[:3], added, *later])


def replay_an_entry(v: Victim) -> Faults:
    entries = v.entries()
    return v.rewrite([*entries, entries[2].model_copy(update={"seq": len(entries) + 1})])


def replay_an_entry_chained_anew(v: Victim) -> Faults:
    entries = v.entries()
    return v.rewrite(rebuilt([*entries, entries[2]]), move_anchor=True)


def fork(v: Victim) -> Faults:
    entries = v.entries()
    other = append(entries[-2], "main", "review", '{"text":"another history"}', entries[-2].at)
    return v.rewrite([*entries[:-1], other])


def rewrite_whole_chain(v: Victim) -> Faults:
    entries, n = v.entries(), v.seq("verdict") - 1
    entries[n] = entries[n].model_copy(update={"body": entries[n].body.replace("reject", "promote")})
    return v.rewrite(rebuilt(entries))


def rewrite_whole_chain_and_anchor(v: Victim) -> Faults:
    entries, n = v.entries(), v.seq("verdict") - 1
    entries[n] = entries[n].model_copy(update={"body": entries[n].body.replace("reject", "promote")})
    return v.rewrite(rebuilt(entries), move_anchor=True)


def chain_of_another_lineage(v: Victim) -> Faults:
    made: list[Entry] = []
    for entry in v.entries():
        made.append(append(made[-1] if made else None, "other", entry.kind, entry.body, entry.at))
    return v.rewrite([entry.model_copy(update={"lineage": "main"}) for entry in made], move_anchor=True)


def entry_moved_into_another_lineage(v: Victim) -> Faults:
    return v.sql(f"UPDATE ledger SET lineage = 'other' WHERE seq = {v.seq('promotion')}")


def damaged_entry(v: Victim) -> Faults:
    return v.sql(f"UPDATE ledger SET at = 'yesterday' WHERE seq = {v.seq('verdict', 0)}")


def update_through_the_database(v: Victim) -> Faults:
    with sqlite3.connect(v.folder / "store.db") as raw:
        raw.execute("UPDATE ledger SET body = '{}'")
    return []


def delete_through_the_database(v: Victim) -> Faults:
    with sqlite3.connect(v.folder / "store.db") as raw:
        raw.execute(f"DELETE FROM ledger WHERE seq = {v.seq('promotion')}")
    return []


ATTACKS: tuple[Attack, ...] = (
    edit_body,
    edit_kind,
    edit_time,
    edit_and_rehash_one,
    delete_middle,
    delete_first,
    delete_and_renumber,
    truncate,
    truncate_with_rows,
    empty_the_ledger,
    empty_everything,
    reorder,
    swap_bodies,
    insert_in_the_middle,
    replay_an_entry,
    replay_an_entry_chained_anew,
    fork,
    rewrite_whole_chain,
    rewrite_whole_chain_and_anchor,
    chain_of_another_lineage,
    entry_moved_into_another_lineage,
    damaged_entry,
    update_through_the_database,
    delete_through_the_database,
)
