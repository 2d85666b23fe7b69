"""Attacks on ledger and promotion, each on a real store in a folder of its own. Aim: every one found or refused.

An attack changes the store's file, the anchor, or calls what a run calls; it counts as stopped when verification names
a fault, or when the call is refused and the store is as whole as before. Honest histories stand beside them: none may
be called faulty. To add attacks, write a function that takes a `Victim` and list it in its module.
"""

import shutil
import sqlite3
import sys
import tempfile
from pathlib import Path

from benchmarks.ledger import beside, calls, chain, histories, honest, reviews, signed
from benchmarks.ledger.victim import (
    KEY,
    STRANGER,
    THIRD,
    Attack,
    Victim,
    build,
)
from benchmarks.report import Figure, Goal, finish, quick, share
from rsi.errors import RsiError
from rsi.registry.engine import open_database
from rsi.registry.lease import acquire

ATTACKS = (*chain.ATTACKS, *beside.ATTACKS, *histories.ATTACKS, *calls.ATTACKS, *reviews.ATTACKS)
SIGNED, HONEST = signed.ATTACKS, honest.HISTORIES


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
