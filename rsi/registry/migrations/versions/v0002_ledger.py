"""The ledger, with what older stores recorded as its first entries; several looks at a shard where a contract allows.

Revision: 0002
"""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from alembic import op

from rsi.gate.ledger import Anchor, Entry, append
from rsi.ids import canonical
from rsi.registry import anchors
from rsi.registry.engine import anchors_of

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

Rows = list[dict[str, Any]]
KEPT = ("looks", "verdicts", "promotions")  # parents first


def upgrade() -> None:
    rows = {name: _rows(name) for name in KEPT}
    _allow_looks(rows)
    op.create_table(
        "ledger",
        sa.Column("lineage", sa.String(length=64), nullable=False),
        sa.Column("seq", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.Column("previous", sa.String(length=64), nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("signature", sa.String(length=64), nullable=True),
        sa.PrimaryKeyConstraint("lineage", "seq"),
    )
    if op.get_bind().dialect.name == "sqlite":
        for verb in ("UPDATE", "DELETE"):
            op.execute(
                f"CREATE TRIGGER ledger_no_{verb.lower()} BEFORE {verb} ON ledger "
                "BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END"
            )
    _adopt(rows)


def _rows(name: str) -> Rows:
    table = sa.Table(name, sa.MetaData(), autoload_with=op.get_bind())
    return [dict(row) for row in op.get_bind().execute(sa.select(table)).mappings()]


def _allow_looks(rows: dict[str, Rows]) -> None:
    """Drop the unique constraint on (lineage, sealed). It has no name of ours, and SQLite can only make the table anew,
    which rows that refer to it forbid: they are taken out and put back."""
    bind = op.get_bind()
    tables = {name: sa.Table(name, sa.MetaData(), autoload_with=bind) for name in KEPT}
    for name in reversed(KEPT):
        bind.execute(tables[name].delete())
    name = "uq_looks_lineage_sealed"
    if bind.dialect.name != "sqlite":
        found = sa.inspect(bind).get_unique_constraints("looks")
        name = next(str(item["name"]) for item in found if item["column_names"] == ["lineage", "sealed"])
    named = {"uq": "uq_%(table_name)s_%(column_0_N_name)s"}
    with op.batch_alter_table("looks", naming_convention=named) as looks:
        looks.drop_constraint(name, type_="unique")
    op.create_index("looks_sealed", "looks", ["lineage", "sealed"], unique=False)
    for name in KEPT:
        if rows[name]:
            bind.execute(tables[name].insert(), rows[name])


def _adopt(rows: dict[str, Rows]) -> None:
    """Chain what was recorded before there was a ledger, in the order of its time, without signatures."""
    lineage_of = {row["digest"]: row["lineage"] for row in rows["looks"]}
    events = [(row["opened_at"], 0, row["lineage"], "look", row["body"]) for row in rows["looks"]]
    events += [(row["recorded_at"], 1, lineage_of[row["look"]], "verdict", row["body"]) for row in rows["verdicts"]]
    events += [(row["at"], 2, row["lineage"], "promotion", canonical(row).decode()) for row in rows["promotions"]]
    heads: dict[str, Entry] = {}
    for at, _, lineage, kind, text in sorted(events):
        heads[lineage] = append(heads.get(lineage), lineage, kind, text, at)
        _insert(heads[lineage])
    _anchor(list(heads.values()))


def _insert(entry: Entry) -> None:
    values = entry.model_dump()
    op.get_bind().execute(sa.table("ledger", *map(sa.column, values)).insert().values(**values))


def _anchor(heads: Sequence[Entry]) -> None:
    """Before the commit: the same store gives the same chain again, should this be cut short."""
    for entry in heads:
        place = Anchor(lineage=entry.lineage, seq=entry.seq, hash=entry.hash)
        anchors.advance(anchors_of(op.get_bind().engine.url), place)
