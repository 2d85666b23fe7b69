"""The `rsi` command. Modules of this package import the rest of the project inside their commands, so that `--help`
stays quick."""

import errno
import sys

import typer

from rsi.cli import banks, cycle, documents, machine, pairs
from rsi.errors import RsiError

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode=None)
for module in (cycle, machine, pairs):
    module.register(app)
app.add_typer(documents.app, name="hcp")
app.add_typer(banks.app, name="bank")
app.add_typer(machine.model_app, name="model")


def main() -> None:
    """Run the command line. A user's mistake is one line on stderr and exit code 2, never a traceback."""
    try:
        app()
    except RsiError as error:
        fail(str(error))
    except KeyboardInterrupt:
        fail("interrupted; run the same command again to continue", 130)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES):
            raise
        fail(f"{error.filename or 'writing'}: {error.strerror}; free some space or set RSI_HOME to another disk")


def fail(message: str, code: int = 2) -> None:
    print(f"rsi: {' '.join(message.split())}", file=sys.stderr)
    sys.exit(code)
