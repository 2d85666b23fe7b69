"""The ledger; several looks at a shard where a contract allows.

Revision: 0002
"""

import sqlalchemy as sa
from alembic import op

from rsi.registry.migrations.filled import refuse_filled

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

NAMING = {"uq": "uq_%(table_name)s_%(column_0_N_name)s"}


def upgrade() -> None:
    refuse_filled("looks", "verdicts", "promotions")
    _allow_looks()
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


def _allow_looks() -> None:
    """Drop the unique constraint on (lineage, sealed), which has no name of ours."""
    bind, name = op.get_bind(), "uq_looks_lineage_sealed"
    if bind.dialect.name != "sqlite":
        found = sa.inspect(bind).get_unique_constraints("looks")
        name = next(str(item["name"]) for item in found if item["column_names"] == ["lineage", "sealed"])
    with op.batch_alter_table("looks", naming_convention=NAMING) as looks:
        looks.drop_constraint(name, type_="unique")
    op.create_index("looks_sealed", "looks", ["lineage", "sealed"], unique=False)
