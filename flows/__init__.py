"""The same stages as `rsi run`, seen by Prefect: a flow for one command, and one served on a schedule.

The only room that knows Prefect. Importing this package does not import it, so that `prepare_environment` comes first.
"""

import os
from pathlib import Path


def prepare_environment(home: Path) -> None:
    """Keep Prefect inside `home`, silent towards its makers and quiet on the terminal. Call before Prefect is imported.

    What the user has set already stands, so a Prefect server elsewhere (PREFECT_API_URL) works as documented there.
    """
    defaults = {
        "PREFECT_HOME": str(home / "prefect"),
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "DO_NOT_TRACK": "1",
        "PREFECT_LOGGING_LEVEL": "WARNING",
        "PREFECT_SERVER_LOGGING_LEVEL": "WARNING",
        "PREFECT_LOGGING_TO_API_WHEN_MISSING_FLOW": "ignore",
    }
    for name, value in defaults.items():
        os.environ.setdefault(name, value)
    Path(os.environ["PREFECT_HOME"]).mkdir(parents=True, exist_ok=True)
