"""Attacks on ledger and promotion, each on a real store in a folder of its own. Aim: every one found or refused.

An attack changes the store's file, the anchor, or calls what a run calls; it counts as stopped when verification names
a fault, or when the call is refused and the store is as whole as before. Honest histories stand beside them: none may
be called faulty. To add attacks, write a function that takes a `Victim` and list it in ATTACKS.
"""

import shutil
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.report import Figure, Goal, finish, quick, share
from benchmarks.review_attacks import REVIEWS
from rsi.errors import RsiError
from rsi.gate.ledger import Anchor, Entry, append
from rsi.ids import canonical, digest
from rsi.registry import anchors
from rsi.registry.champions import Champions
from rsi.registry.engine import Database, open_database
from rsi.registry.lease import Lease, acquire
from rsi.registry.ledger import Ledger
from rsi.registry.looks import Looks
from rsi.types import Look, Pair, PairRecord, Record, Verdict

KEY = b"the key of the operator, which the forger has not"
Faults = Sequence[str]
Attack = Callable[["Victim"], Faults]


class Note(Record):
    text: str


def pair(name: str, generation: int) -> PairRecord:
    made = Pair(base="base", adapters={"agent": name}, hcp="document")
    return PairRecord(pair=made, lineage="main", generation=generation, parent=None, document=f"x = '{name}'")


FIRST, SECOND, THIRD, STRANGER = pair("a0", 0), pair("a1", 1), pair("a2", 2), pair("a9", 9)


def look(generation: int, champion: PairRecord, candidate: PairRecord, **changes: Any) -> Look:
    fields = {
        "lineage": "main",
        "generation": generation,
        "champion": champion.pair.digest,
        "candidate": candidate.pair.digest,
        "contract": "contract",
        "sealed": f"shard {generation}",
        "attempts": ("an attempt",),
        "alpha": 0.01,
        "spent": 0.01 * (generation - 1),
        "budget": 0.05,
    }
    return Look.model_validate({**fields, **changes})


def verdict(on: Look, decision: str) -> Verdict:
    return Verdict.model_validate(
        {"decision": decision, "look": on.digest, "clauses": (), "rates": {}, "two_by_two": {}}
    )


LOOKS = (look(1, FIRST, SECOND), look(2, SECOND, THIRD))


@dataclass(frozen=True)
class Victim:
    """A store in which SECOND was promoted and THIRD refused: six entries, unsigned unless `key` is given."""

    folder: Path
    database: Database
    lease: Lease
    key: bytes | None = None

    @property
    def ledger(self) -> Ledger:
        return Ledger(self.database, self.lease, self.key)

    @property
    def champions(self) -> Champions:
        return Champions(self.database, self.lease, self.key)

    @property
    def looks(self) -> Looks:
        return Looks(self.database, self.lease, self.key)

    def verify(self) -> Faults:
        return self.ledger.verify("main")

    def sql(self, *statements: str) -> Faults:
        """What is found after someone with the file has run these, triggers and foreign keys out of the way."""
        with sqlite3.connect(self.folder / "store.db") as raw:
            raw.execute("DROP TRIGGER IF EXISTS ledger_no_update")
            raw.execute("DROP TRIGGER IF EXISTS ledger_no_delete")
            for statement in statements:
                if raw.execute(statement).rowcount == 0:
                    raise AssertionError(f"the attack did nothing: {statement}")
        return self.verify()

    def entries(self) -> list[Entry]:
        return list(self.ledger.entries("main"))

    def rewrite(self, entries: Sequence[Entry], move_anchor: bool = False) -> Faults:
        """Put these in the place of the chain."""
        with sqlite3.connect(self.folder / "store.db") as raw:
            raw.execute("DROP TRIGGER IF EXISTS ledger_no_delete")
            raw.execute("DELETE FROM ledger")
            for entry in entries:
                names, values = zip(*entry.model_dump().items(), strict=True)
                raw.execute(f"INSERT INTO ledger ({','.join(names)}) VALUES ({','.join('?' * len(names))})", values)
        if move_anchor:
            self.anchor(Anchor(lineage="main", seq=entries[-1].seq, hash=entries[-1].hash))
        return self.verify()

    def anchor(self, place: Anchor) -> None:
        anchors.anchor_file(self.database.anchors, "main").write_text(place.model_dump_json())

    def forge(self, kind: str, content: Mapping[str, Any], *statements: str) -> Faults:
        """Append an entry with right hashes, and its row, as someone with the store but without a key can."""
        entries = self.entries()
        last = entries[-1].model_copy(update={"signature": None})
        entries.append(append(last, "main", kind, canonical(content).decode(), time.time()))
        self.rewrite(entries, move_anchor=True)
        return self.sql(*statements)


def rebuilt(contents: Sequence[Entry], key: bytes | None = None) -> list[Entry]:
    """These contents, numbered, hashed and linked anew."""
    made: list[Entry] = []
    for entry in contents:
        made.append(append(made[-1] if made else None, "main", entry.kind, entry.body, entry.at, key))
    return made


def build(folder: Path, key: bytes | None = None) -> None:
    database = open_database(f"sqlite:///{folder}/store.db")
    with acquire(database, "main") as lease:
        victim = Victim(folder, database, lease, key)
        victim.champions.start(FIRST)
        for record, one, decision in zip((SECOND, THIRD), LOOKS, ("promote", "reject"), strict=True):
            victim.champions.publish(record)
            victim.looks.open(one)
            victim.looks.close(verdict(one, decision))
        victim.champions.promote("main", SECOND.pair.digest, LOOKS[0].digest)
    database.close()


# Changes of the stored chain -----------------------------------------------------------------------------------------


def edit_body(v: Victim) -> Faults:
    return v.sql("UPDATE ledger SET body = replace(body, 'reject', 'promote') WHERE kind = 'verdict' AND seq = 5")


def edit_kind(v: Victim) -> Faults:
    return v.sql("UPDATE ledger SET kind = 'review' WHERE seq = 5")


def edit_time(v: Victim) -> Faults:
    return v.sql("UPDATE ledger SET at = at - 5 WHERE seq = 3")


def edit_and_rehash_one(v: Victim) -> Faults:
    entries = v.entries()
    changed = entries[4].model_copy(update={"body": entries[4].body.replace("reject", "promote")})
    entries[4] = changed.model_copy(update={"hash": changed.computed()})
    return v.rewrite(entries)


def delete_middle(v: Victim) -> Faults:
    return v.sql("DELETE FROM ledger WHERE seq = 4")


def delete_first(v: Victim) -> Faults:
    return v.sql("DELETE FROM ledger WHERE seq = 1")


def delete_and_renumber(v: Victim) -> Faults:
    return v.sql("DELETE FROM ledger WHERE seq = 4", "UPDATE ledger SET seq = seq - 1 WHERE seq > 4")


def truncate(v: Victim) -> Faults:
    return v.sql("DELETE FROM ledger WHERE seq > 3")


def truncate_with_rows(v: Victim) -> Faults:
    return v.sql(
        "DELETE FROM ledger WHERE seq > 3",
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
    return v.sql("UPDATE ledger SET seq = 99 WHERE seq = 3", "UPDATE ledger SET seq = 3 WHERE seq = 4",
                 "UPDATE ledger SET seq = 4 WHERE seq = 99")  # fmt: skip


def swap_bodies(v: Victim) -> Faults:
    entries = v.entries()
    one, two = entries[2], entries[4]
    entries[2], entries[4] = (one.model_copy(update={"body": two.body}), two.model_copy(update={"body": one.body}))
    return v.rewrite(entries)


def insert_in_the_middle(v: Victim) -> Faults:
    entries = v.entries()
    added = append(entries[2], "main", "review", '{"text":"approved"}', entries[2].at)
    later = [entry.model_copy(update={"seq": entry.seq + 1}) for entry in entries[3:]]
    return v.rewrite([*entries[:3], added, *later])


def replay_an_entry(v: Victim) -> Faults:
    entries = v.entries()
    return v.rewrite([*entries, entries[2].model_copy(update={"seq": 7})])


def replay_an_entry_chained_anew(v: Victim) -> Faults:
    entries = v.entries()
    return v.rewrite(rebuilt([*entries, entries[2]]), move_anchor=True)


def fork(v: Victim) -> Faults:
    entries = v.entries()
    other = append(entries[4], "main", "review", '{"text":"another history"}', entries[4].at)
    return v.rewrite([*entries[:5], other])


def rewrite_whole_chain(v: Victim) -> Faults:
    entries = v.entries()
    entries[4] = entries[4].model_copy(update={"body": entries[4].body.replace("reject", "promote")})
    return v.rewrite(rebuilt(entries))


def rewrite_whole_chain_and_anchor(v: Victim) -> Faults:
    entries = v.entries()
    entries[4] = entries[4].model_copy(update={"body": entries[4].body.replace("reject", "promote")})
    return v.rewrite(rebuilt(entries), move_anchor=True)


def chain_of_another_lineage(v: Victim) -> Faults:
    made: list[Entry] = []
    for entry in v.entries():
        made.append(append(made[-1] if made else None, "other", entry.kind, entry.body, entry.at))
    return v.rewrite([entry.model_copy(update={"lineage": "main"}) for entry in made], move_anchor=True)


def entry_moved_into_another_lineage(v: Victim) -> Faults:
    return v.sql("UPDATE ledger SET lineage = 'other' WHERE seq = 6")


def damaged_entry(v: Victim) -> Faults:
    return v.sql("UPDATE ledger SET at = 'yesterday' WHERE seq = 3")


def update_through_the_database(v: Victim) -> Faults:
    with sqlite3.connect(v.folder / "store.db") as raw:
        raw.execute("UPDATE ledger SET body = '{}'")
    return []


def delete_through_the_database(v: Victim) -> Faults:
    with sqlite3.connect(v.folder / "store.db") as raw:
        raw.execute("DELETE FROM ledger WHERE seq = 6")
    return []


# Anchor and clock ----------------------------------------------------------------------------------------------------


def anchor_deleted(v: Victim) -> Faults:
    anchors.anchor_file(v.database.anchors, "main").unlink()
    return v.verify()


def anchor_damaged(v: Victim) -> Faults:
    anchors.anchor_file(v.database.anchors, "main").write_text("{")
    return v.verify()


def anchor_of_another_lineage(v: Victim) -> Faults:
    v.anchor(Anchor(lineage="other", seq=6, hash=v.entries()[-1].hash))
    return v.verify()


def anchor_rolled_back_with_the_chain(v: Victim) -> Faults:
    """Chain and anchor cut off together; the rows are left."""
    return v.rewrite(v.entries()[:3], move_anchor=True)


def everything_rolled_back_but_the_second_anchor(v: Victim) -> Faults:
    """Store and file restored from an older copy; MLflow's tag knows more."""
    entries = v.entries()
    tag = Anchor(lineage="main", seq=entries[-1].seq, hash=entries[-1].hash)
    v.rewrite(entries[:3], move_anchor=True)
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
    early = Entry.model_validate({**entries[-1].model_dump(), "seq": 7, "kind": "review", "body": "{}", "at": 1.0,
                                  "previous": entries[-1].hash})  # fmt: skip
    return v.rewrite([*entries, early.model_copy(update={"hash": early.computed()})])


def entry_of_the_future(v: Victim) -> Faults:
    entries = v.entries()
    return v.rewrite([*entries, append(entries[-1], "main", "review", "{}", time.time() + 86400)])


# Rows beside the ledger ----------------------------------------------------------------------------------------------


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


# Histories that no gate wrote, with right hashes and a moved anchor ---------------------------------------------------


def step(kind: str, record: PairRecord, previous: PairRecord, on: Look | None, seq: int = 3) -> dict[str, Any]:
    return {
        "seq": seq,
        "lineage": "main",
        "pair": record.pair.digest,
        "previous": previous.pair.digest,
        "kind": kind,
        "look": on.digest if on else None,
        "reason": "forged",
        "at": 1.0,
    }


def forge_step(v: Victim, content: Mapping[str, Any]) -> Faults:
    values = ", ".join("NULL" if value is None else repr(value) for value in content.values())
    return v.forge("promotion", content, f"INSERT INTO promotions ({', '.join(content)}) VALUES ({values})")


def promotion_forged_on_a_rejection(v: Victim) -> Faults:
    return forge_step(v, step("promotion", THIRD, SECOND, LOOKS[1]))


def promotion_forged_without_a_look(v: Victim) -> Faults:
    return forge_step(v, step("promotion", STRANGER, SECOND, None))


def rollback_forged_to_a_never_champion(v: Victim) -> Faults:
    return forge_step(v, step("rollback", STRANGER, SECOND, None))


def start_forged_a_second_time(v: Victim) -> Faults:
    return forge_step(v, {**step("start", STRANGER, SECOND, None), "previous": None})


def second_verdict_forged(v: Victim) -> Faults:
    return v.forge("verdict", verdict(LOOKS[1], "promote").model_dump(mode="json"))


def look_forged_that_refunds_the_budget(v: Victim) -> Faults:
    content = look(3, SECOND, THIRD, spent=0.0).model_dump(mode="json")
    names = ("lineage", "generation", "champion", "candidate", "sealed")
    values = [digest(content), *(content[name] for name in names), 0.0, canonical(content).decode()]
    return v.forge("look", content, f"INSERT INTO looks VALUES ({', '.join(map(repr, values))})")


# Calls that must be refused ------------------------------------------------------------------------------------------


def verdict_replayed_for_another_candidate(v: Victim) -> Faults:
    v.champions.publish(STRANGER)
    v.champions.promote("main", STRANGER.pair.digest, LOOKS[1].digest)
    return []


def rejected_candidate_promoted(v: Victim) -> Faults:
    v.champions.promote("main", THIRD.pair.digest, LOOKS[1].digest)
    return []


def verdict_changed_afterwards(v: Victim) -> Faults:
    v.looks.close(verdict(LOOKS[1], "promote"))
    return []


def verdict_without_a_look(v: Victim) -> Faults:
    v.looks.close(verdict(look(7, SECOND, STRANGER), "promote"))
    return []


def second_look_in_a_generation(v: Victim) -> Faults:
    v.looks.open(look(2, SECOND, STRANGER, sealed="a fresh shard"))
    return []


def second_look_at_a_shard(v: Victim) -> Faults:
    v.looks.open(look(3, SECOND, STRANGER, sealed="shard 2"))
    return []


def retired_shard_reopened_by_a_new_contract(v: Victim) -> Faults:
    v.looks.open(look(3, SECOND, STRANGER, sealed="shard 2", shard_looks=9, contract="a laxer one"))
    return []


def budget_refunded(v: Victim) -> Faults:
    v.looks.open(look(3, SECOND, STRANGER, spent=0.0))
    return []


def budget_widened_by_a_new_contract(v: Victim) -> Faults:
    v.looks.open(look(3, SECOND, STRANGER, budget=0.5, contract="a laxer one"))
    return []


def budget_overdrawn(v: Victim) -> Faults:
    v.looks.open(look(3, SECOND, STRANGER, alpha=0.04))
    return []


def rollback_to_a_never_champion(v: Victim) -> Faults:
    v.champions.rollback("main", THIRD.pair.digest)
    return []


def judged_against_a_former_champion(v: Victim) -> Faults:
    late = look(3, SECOND, THIRD)
    v.looks.open(late)
    v.looks.close(verdict(late, "promote"))
    v.champions.rollback("main", FIRST.pair.digest)
    v.champions.promote("main", THIRD.pair.digest, late.digest)
    return []


def old_promotion_used_again_after_a_rollback(v: Victim) -> Faults:
    v.champions.rollback("main", FIRST.pair.digest)
    again = v.champions.promote("main", SECOND.pair.digest, LOOKS[0].digest)
    return [] if again else ["this look has promoted already, and does so once"]


def two_promoters(v: Victim) -> Faults:
    late = look(3, SECOND, THIRD)
    v.looks.open(late)
    v.looks.close(verdict(late, "promote"))
    other = Champions(open_database(f"sqlite:///{v.folder}/store.db"), v.lease)
    won = [one.promote("main", THIRD.pair.digest, late.digest) for one in (other, v.champions)]
    return ["the second was told that it lost"] if won == [True, False] and not v.verify() else []


def second_holder_of_the_lease(v: Victim) -> Faults:
    acquire(v.database, "main", "another run")
    return []


def stale_lease(v: Victim) -> Faults:
    v.database.write(lambda c: c.exec_driver_sql("UPDATE leases SET expires_at = 0"))
    acquire(v.database, "main", "the run that took over")
    v.champions.rollback("main", FIRST.pair.digest)
    return []


def lost_lease(v: Victim) -> Faults:
    v.lease.release()
    v.looks.open(look(3, SECOND, STRANGER))
    return []


def no_lease(v: Victim) -> Faults:
    Champions(v.database).rollback("main", FIRST.pair.digest)
    return []


def lease_of_another_lineage(v: Victim) -> Faults:
    Champions(v.database, acquire(v.database, "other")).rollback("main", FIRST.pair.digest)
    return []


# A signed lineage: the forger has the store and the anchor, not the key -----------------------------------------------


def signed_chain_rewritten_unsigned(v: Victim) -> Faults:
    entries = v.entries()
    return v.rewrite(rebuilt(entries), move_anchor=True)


def signed_chain_rewritten_with_another_key(v: Victim) -> Faults:
    return v.rewrite(rebuilt(v.entries(), b"a key that the forger made up"), move_anchor=True)


def signature_forged(v: Victim) -> Faults:
    return v.sql(f"UPDATE ledger SET signature = '{'0' * 64}' WHERE seq = 4")


def signature_removed(v: Victim) -> Faults:
    return v.sql("UPDATE ledger SET signature = NULL WHERE seq = 4")


def signature_of_another_entry(v: Victim) -> Faults:
    return v.sql("UPDATE ledger SET signature = (SELECT signature FROM ledger WHERE seq = 3) WHERE seq = 4")


def unsigned_entry_appended(v: Victim) -> Faults:
    return v.forge("review", {"text": "approved"})


def written_without_the_key(v: Victim) -> Faults:
    Ledger(v.database, v.lease).append("main", "review", Note(text="approved"))
    return []


def written_with_another_key(v: Victim) -> Faults:
    Ledger(v.database, v.lease, b"another key").append("main", "review", Note(text="approved"))
    return v.verify()


ATTACKS: tuple[Attack, ...] = (
    edit_body, edit_kind, edit_time, edit_and_rehash_one, delete_middle, delete_first, delete_and_renumber, truncate,
    truncate_with_rows, empty_the_ledger, empty_everything, reorder, swap_bodies, insert_in_the_middle, replay_an_entry,
    replay_an_entry_chained_anew, fork, rewrite_whole_chain, rewrite_whole_chain_and_anchor, chain_of_another_lineage,
    entry_moved_into_another_lineage, damaged_entry, update_through_the_database, delete_through_the_database,
    anchor_deleted, anchor_damaged, anchor_of_another_lineage, anchor_rolled_back_with_the_chain,
    everything_rolled_back_but_the_second_anchor, clock_moved_back_in_the_chain, entry_of_the_future,
    verdict_row_edited, verdict_row_edited_and_promoted, verdict_row_deleted, verdict_row_forged, look_row_edited,
    look_row_deleted_for_another_try, look_budget_edited, promotion_row_forged, promotion_row_edited,
    promotion_row_deleted, champion_document_swapped, promotion_forged_on_a_rejection, promotion_forged_without_a_look,
    rollback_forged_to_a_never_champion, start_forged_a_second_time, second_verdict_forged,
    look_forged_that_refunds_the_budget, verdict_replayed_for_another_candidate, rejected_candidate_promoted,
    verdict_changed_afterwards, verdict_without_a_look, second_look_in_a_generation, second_look_at_a_shard,
    retired_shard_reopened_by_a_new_contract, budget_refunded, budget_widened_by_a_new_contract, budget_overdrawn,
    rollback_to_a_never_champion, judged_against_a_former_champion, old_promotion_used_again_after_a_rollback,
    two_promoters, second_holder_of_the_lease, stale_lease, lost_lease, no_lease, lease_of_another_lineage,
    *REVIEWS,
)  # fmt: skip
SIGNED: tuple[Attack, ...] = (
    signed_chain_rewritten_unsigned, signed_chain_rewritten_with_another_key, signature_forged, signature_removed,
    signature_of_another_entry, unsigned_entry_appended, written_without_the_key, written_with_another_key,
    rewrite_whole_chain_and_anchor, promotion_forged_on_a_rejection,
)  # fmt: skip


# Honest histories, in which nothing may be found ----------------------------------------------------------------------


def nothing_happened(v: Victim) -> Faults:
    return v.verify()


def killed_between_commit_and_anchor(v: Victim) -> Faults:
    v.anchor(Anchor(lineage="main", seq=5, hash=v.entries()[4].hash))
    return v.verify()


def rolled_back_and_promoted_again(v: Victim) -> Faults:
    v.champions.rollback("main", FIRST.pair.digest)
    late = look(3, FIRST, THIRD)
    v.looks.open(late)
    v.looks.close(verdict(late, "promote"))
    v.champions.promote("main", THIRD.pair.digest, late.digest)
    return v.verify()


def resumed(v: Victim) -> Faults:
    for one, decision in zip(LOOKS, ("promote", "reject"), strict=True):
        v.looks.open(one)
        v.looks.close(verdict(one, decision))
    v.champions.promote("main", SECOND.pair.digest, LOOKS[0].digest)
    return v.verify()


def another_lineage_beside(v: Victim) -> Faults:
    with acquire(v.database, "other") as lease:
        Champions(v.database, lease, v.key).start(FIRST.model_copy(update={"lineage": "other"}))
    return [*v.verify(), *v.ledger.verify("other")]


def reviewed_beside_a_run(v: Victim) -> Faults:
    Ledger(v.database, key=v.key).append("main", "review", Note(text="approved"))
    return v.verify()


def second_anchor_that_lags(v: Victim) -> Faults:
    return v.ledger.verify("main", Anchor(lineage="main", seq=2, hash=v.entries()[1].hash))


HONEST: tuple[Attack, ...] = (
    nothing_happened, killed_between_commit_and_anchor, rolled_back_and_promoted_again, resumed,
    another_lineage_beside, reviewed_beside_a_run, second_anchor_that_lags,
)  # fmt: skip


def attacked(template: Path, attack: Attack, key: bytes | None) -> str:
    """How an attack on a copy of the store ended: "found: ...", "refused: ...", or "" where it went through."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made) / "home"
        shutil.copytree(template, folder)
        database = open_database(f"sqlite:///{folder}/store.db")
        victim = Victim(folder, database, acquire(database, "main"), key)
        try:
            faults = attack(victim)
            return f"found: {faults[0]}" if faults else ""
        except (RsiError, sqlite3.IntegrityError) as error:
            return f"refused: {error}" if untouched(victim) else ""
        finally:
            database.close()


def untouched(victim: Victim) -> bool:
    """After a refusal: the store is whole, no candidate that was not judged so is champion, none has had its look."""
    champion = victim.champions.current("main")
    looked = {one.candidate for one in victim.looks.of("main")}
    forbidden = (THIRD.pair, STRANGER.pair)
    return champion is not None and champion.pair not in forbidden and STRANGER.pair.digest not in looked and (
        not victim.verify()
    )  # fmt: skip


def main() -> int:
    quick(__doc__ or "")  # all of it is quick
    stopped, alarms = [], []
    with tempfile.TemporaryDirectory() as made:
        plain, signed = Path(made) / "plain", Path(made) / "signed"
        build(plain)
        build(signed, KEY)
        for template, key, attacks in ((plain, None, ATTACKS), (signed, KEY, SIGNED)):
            for attack in attacks:
                outcome = attacked(template, attack, key)
                stopped.append(bool(outcome))
                print(f"{attack.__name__.replace('_', ' '):50} {outcome or 'WENT THROUGH'}"[:160])
            for honest in HONEST:
                outcome = attacked(template, honest, key)
                alarms.append(bool(outcome))
                if outcome:
                    print(f"{honest.__name__.replace('_', ' '):50} FALSE ALARM: {outcome}"[:160])
    figures = [
        share("attacks found or refused", sum(stopped), len(stopped)),
        share("false alarms on honest histories", sum(alarms), len(alarms)),
    ]
    distinct = len({*ATTACKS, *SIGNED})
    figures.append(Figure("distinct attacks", distinct, "attacks", distinct, distinct, distinct))
    goals = [Goal(figures[0].name, at_least=1), Goal(figures[1].name, at_most=0), Goal("distinct attacks", at_least=30)]
    return finish("ledger_attacks", figures, goals)


if __name__ == "__main__":
    sys.exit(main())
