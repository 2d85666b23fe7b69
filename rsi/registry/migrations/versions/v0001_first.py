"""The first schema.

Revision: 0001
"""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "attempts",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("task_id", sa.String(length=128), nullable=False),
        sa.Column("pair", sa.String(length=64), nullable=False),
        sa.Column("purpose", sa.String(length=200), nullable=False),
        sa.Column("draw", sa.Integer(), nullable=False),
        sa.Column("family", sa.String(length=128), nullable=False),
        sa.Column("split", sa.String(length=16), nullable=False),
        sa.Column("held_out", sa.Boolean(), nullable=False),
        sa.Column("passed", sa.Boolean(), nullable=False),
        sa.Column("reward", sa.Float(), nullable=False),
        sa.Column("recorded_at", sa.Float(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("attempts_purpose", "attempts", ["purpose", "pair"], unique=False)
    op.create_table(
        "failures",
        sa.Column("seq", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("attempt", sa.String(length=64), nullable=False),
        sa.Column("purpose", sa.String(length=200), nullable=False),
        sa.Column("error", sa.Text(), nullable=False),
        sa.Column("recorded_at", sa.Float(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("seq"),
    )
    op.create_index("failures_purpose", "failures", ["purpose"], unique=False)
    op.create_table(
        "leases",
        sa.Column("lineage", sa.String(length=64), nullable=False),
        sa.Column("token", sa.Integer(), nullable=False),
        sa.Column("holder", sa.Text(), nullable=False),
        sa.Column("machine", sa.Text(), nullable=False),
        sa.Column("pid", sa.Integer(), nullable=True),
        sa.Column("started", sa.String(length=32), nullable=False),
        sa.Column("expires_at", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("lineage"),
    )
    op.create_table(
        "looks",
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("lineage", sa.String(length=64), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("champion", sa.String(length=64), nullable=False),
        sa.Column("candidate", sa.String(length=64), nullable=False),
        sa.Column("sealed", sa.String(length=64), nullable=False),
        sa.Column("opened_at", sa.Float(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("digest"),
        sa.UniqueConstraint("lineage", "generation"),
        sa.UniqueConstraint("lineage", "sealed"),
    )
    op.create_table(
        "pairs",
        sa.Column("seq", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("lineage", sa.String(length=64), nullable=False),
        sa.Column("pair", sa.String(length=64), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("body_digest", sa.String(length=64), nullable=False),
        sa.Column("published_at", sa.Float(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("seq"),
        sa.UniqueConstraint("lineage", "body_digest"),
    )
    op.create_index("pairs_pair", "pairs", ["lineage", "pair"], unique=False)
    op.create_table(
        "stages",
        sa.Column("lineage", sa.String(length=64), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("committed_at", sa.Float(), nullable=False),
        sa.Column("output", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("lineage", "generation", "name"),
    )
    op.create_table(
        "verdicts",
        sa.Column("look", sa.String(length=64), nullable=False),
        sa.Column("decision", sa.String(length=16), nullable=False),
        sa.Column("recorded_at", sa.Float(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["look"],
            ["looks.digest"],
        ),
        sa.PrimaryKeyConstraint("look"),
    )
    op.create_table(
        "promotions",
        sa.Column("seq", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("lineage", sa.String(length=64), nullable=False),
        sa.Column("pair", sa.String(length=64), nullable=False),
        sa.Column("previous", sa.String(length=64), nullable=True),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("look", sa.String(length=64), nullable=True),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(
            ["look"],
            ["verdicts.look"],
        ),
        sa.PrimaryKeyConstraint("seq"),
        sa.UniqueConstraint("look"),
    )
    op.create_index("promotions_lineage", "promotions", ["lineage", "seq"], unique=False)
