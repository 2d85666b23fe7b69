"""Histories that no gate wrote, with right hashes and a moved anchor."""

from collections.abc import Mapping
from typing import Any

from benchmarks.ledger.victim import (
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
from rsi.ids import canonical, digest
from rsi.types import Look, PairRecord


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


ATTACKS: tuple[Attack, ...] = (
    promotion_forged_on_a_rejection,
    promotion_forged_without_a_look,
    rollback_forged_to_a_never_champion,
    start_forged_a_second_time,
    second_verdict_forged,
    look_forged_that_refunds_the_budget,
)
