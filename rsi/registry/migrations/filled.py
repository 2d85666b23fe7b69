"""What a migration does where rows were recorded that it cannot vouch for."""

import sqlalchemy as sa
from alembic import op

from rsi.errors import UserError


def refuse_filled(*tables: str) -> None:
    """UserError where any of these tables holds a row: what it is evidence of was not bound when it was written, and
    cannot be afterwards."""
    bind = op.get_bind()
    for name in tables:
        if bind.scalar(sa.select(sa.func.count()).select_from(sa.table(name))):
            raise UserError(
                f"store {bind.engine.url.database}: its records are of an earlier version of rsi, which did not bind "
                "them; read them with that version, and use another RSI_HOME"
            )
