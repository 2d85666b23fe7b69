"""The tables. Bodies are canonical JSON of the frozen records; columns beside them are for queries, people's too.

Changed only together with a new migration; a test compares the two.
"""

from sqlalchemy import (
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

metadata = MetaData()
DIGEST, NAME = String(64), String(64)

# Each row of these four is vouched for by the entry of its lineage's ledger whose number `entry` is (bound.py).
attempts = Table(
    "attempts",
    metadata,
    Column("id", DIGEST, primary_key=True),
    Column("lineage", NAME, nullable=False),
    Column("entry", Integer, nullable=False),
    Column("task_id", String(128), nullable=False),
    Column("pair", DIGEST, nullable=False),
    Column("purpose", String(200), nullable=False),
    Column("draw", Integer, nullable=False),
    Column("family", String(128), nullable=False),
    Column("split", String(16), nullable=False),
    Column("held_out", Boolean, nullable=False),
    Column("passed", Boolean, nullable=False),
    Column("reward", Float, nullable=False),
    Column("recorded_at", Float, nullable=False),  # seconds since the epoch
    Column("body", Text, nullable=False),
    UniqueConstraint("lineage", "entry"),
    Index("attempts_purpose", "purpose", "pair"),
)

# Infrastructure failures: kept for people, never among the attempts, still owed.
failures = Table(
    "failures",
    metadata,
    Column("lineage", NAME, primary_key=True),
    Column("entry", Integer, primary_key=True, autoincrement=False),
    Column("attempt", DIGEST, nullable=False),
    Column("purpose", String(200), nullable=False),
    Column("error", Text, nullable=False),
    Column("recorded_at", Float, nullable=False),
    Column("body", Text, nullable=False),
    Index("failures_purpose", "purpose"),
)

stages = Table(
    "stages",
    metadata,
    Column("lineage", NAME, primary_key=True),
    Column("generation", Integer, primary_key=True),
    Column("name", NAME, primary_key=True),
    Column("entry", Integer, nullable=False),
    Column("committed_at", Float, nullable=False),
    Column("output", Text, nullable=False),
    UniqueConstraint("lineage", "entry"),
)

# Publishing a pair with more evidence adds a row; the newest row of a pair is its record.
pairs = Table(
    "pairs",
    metadata,
    Column("lineage", NAME, primary_key=True),
    Column("entry", Integer, primary_key=True, autoincrement=False),
    Column("pair", DIGEST, nullable=False),
    Column("generation", Integer, nullable=False),
    Column("body_digest", DIGEST, nullable=False),
    Column("published_at", Float, nullable=False),
    Column("body", Text, nullable=False),
    UniqueConstraint("lineage", "body_digest"),
    Index("pairs_pair", "lineage", "pair"),
)

# One look a generation. How many there may be at one sealed shard is the contract's to say.
looks = Table(
    "looks",
    metadata,
    Column("digest", DIGEST, primary_key=True),
    Column("lineage", NAME, nullable=False),
    Column("generation", Integer, nullable=False),
    Column("champion", DIGEST, nullable=False),
    Column("candidate", DIGEST, nullable=False),
    Column("sealed", DIGEST, nullable=False),
    Column("opened_at", Float, nullable=False),
    Column("body", Text, nullable=False),
    UniqueConstraint("lineage", "generation"),
    Index("looks_sealed", "lineage", "sealed"),
)

verdicts = Table(
    "verdicts",
    metadata,
    Column("look", DIGEST, ForeignKey("looks.digest"), primary_key=True),
    Column("decision", String(16), nullable=False),
    Column("recorded_at", Float, nullable=False),
    Column("body", Text, nullable=False),
)

# Append-only: the newest row of a lineage is its champion.
promotions = Table(
    "promotions",
    metadata,
    Column("seq", Integer, primary_key=True, autoincrement=True),
    Column("lineage", NAME, nullable=False),
    Column("pair", DIGEST, nullable=False),
    Column("previous", DIGEST),
    Column("kind", String(16), nullable=False),  # start, promotion, rollback
    Column("look", DIGEST, ForeignKey("verdicts.look"), unique=True),
    Column("reason", Text, nullable=False),
    Column("at", Float, nullable=False),
    Index("promotions_lineage", "lineage", "seq"),
)

# Append-only: one hash chain a lineage (rsi/gate/ledger.py) over all that is recorded of it.
ledger = Table(
    "ledger",
    metadata,
    Column("lineage", NAME, primary_key=True),
    Column("seq", Integer, primary_key=True, autoincrement=False),
    Column("kind", String(16), nullable=False),
    Column("body", Text, nullable=False),
    Column("at", Float, nullable=False),
    Column("fence", Integer, nullable=False),
    Column("previous", DIGEST, nullable=False),
    Column("hash", DIGEST, nullable=False),
    Column("signature", DIGEST),
)

# The row stays when a lease is given back: its token only ever grows. `pid` is NULL where nobody holds it.
leases = Table(
    "leases",
    metadata,
    Column("lineage", NAME, primary_key=True),
    Column("token", Integer, nullable=False),
    Column("holder", Text, nullable=False),
    Column("machine", Text, nullable=False),
    Column("pid", Integer),
    Column("started", String(32), nullable=False),
    Column("expires_at", Float, nullable=False),
)
