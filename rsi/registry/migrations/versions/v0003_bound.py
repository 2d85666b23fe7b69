"""Attempts, failures, stages and pairs are vouched for by entries of the ledger, which know the lease that they were
written under.

Revision: 0003
"""

import sqlalchemy as sa
from alembic import op

from rsi.registry.migrations.filled import refuse_filled

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    refuse_filled("ledger", "attempts", "failures", "stages", "pairs")
    for name in ("ledger", "failures", "pairs"):  # they are empty, and get other keys
        op.drop_table(name)
    for name in ("attempts", "stages"):
        with op.batch_alter_table(name) as table:
            if name == "attempts":
                table.add_column(sa.Column("lineage", sa.String(length=64), nullable=False))
            table.add_column(sa.Column("entry", sa.Integer(), nullable=False))
            table.create_unique_constraint(f"uq_{name}_lineage_entry", ["lineage", "entry"])
    _create_bound()
    _create_ledger()


def _create_bound() -> None:
    op.create_table(
        "failures",
        sa.Column("lineage", sa.String(length=64), nullable=False),
        sa.Column("entry", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("attempt", sa.String(length=64), nullable=False),
        sa.Column("purpose", sa.String(length=200), nullable=False),
        sa.Column("error", sa.Text(), nullable=False),
        sa.Column("recorded_at", sa.Float(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("lineage", "entry"),
    )
    op.create_index("failures_purpose", "failures", ["purpose"], unique=False)
    op.create_table(
        "pairs",
        sa.Column("lineage", sa.String(length=64), nullable=False),
        sa.Column("entry", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("pair", sa.String(length=64), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("body_digest", sa.String(length=64), nullable=False),
        sa.Column("published_at", sa.Float(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("lineage", "entry"),
        sa.UniqueConstraint("lineage", "body_digest"),
    )
    op.create_index("pairs_pair", "pairs", ["lineage", "pair"], unique=False)


def _create_ledger() -> None:
    op.create_table(
        "ledger",
        sa.Column("lineage", sa.String(length=64), nullable=False),
        sa.Column("seq", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.Column("fence", sa.Integer(), nullable=False),
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
