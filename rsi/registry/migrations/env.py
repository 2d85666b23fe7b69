"""What Alembic runs: always on the connection, and in the transaction, of `rsi.registry.engine`."""

from alembic import context

from rsi.registry.models import metadata

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=metadata)
with context.begin_transaction():
    context.run_migrations()
