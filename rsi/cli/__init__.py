"""The `rsi` command. Modules of this package import the rest of the project inside their commands, so that `--help`
stays quick."""

import errno
import os
import sys
from typing import TextIO, cast

import typer

from rsi.cli import banks, contracts, cycle, documents, ledger, machine, pairs, review
from rsi.cli.out import Escaping, say_line, tell
from rsi.errors import InfrastructureError, ReviewPending, RsiError

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode=None)
for module in (cycle, machine, pairs):
    module.register(app)
app.add_typer(documents.app, name="hcp")
app.add_typer(banks.app, name="bank")
app.add_typer(contracts.app, name="contract")
app.add_typer(contracts.gate, name="gate")
app.add_typer(ledger.app, name="ledger")
app.add_typer(review.app, name="review")
app.add_typer(machine.model_app, name="model")

DISK = {
    errno.ENOSPC: "free some space, or set RSI_HOME to another disk",
    errno.EDQUOT: "free some space, or set RSI_HOME to another disk",
    errno.EROFS: "set RSI_HOME to a folder that can be written",
    errno.EACCES: "set RSI_HOME to a folder that can be written",
    errno.ENOTDIR: "set RSI_HOME to a folder",
    errno.EEXIST: "set RSI_HOME to a folder",
}


def main() -> None:
    """Run the command line. A user's mistake is one line on stderr and exit code 2, an outage of a model server, an
    engine or the sandboxes one with exit code 1: the same command goes on where it ended. Never a traceback."""
    sys.stderr = cast(TextIO, Escaping(sys.stderr))  # the usage of a command quotes arguments: names of files
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # of a terminal that is not UTF-8
    try:
        app()
    except ReviewPending as pending:
        say_line(str(pending))
    except InfrastructureError as error:
        fail(str(error), 1)
    except RsiError as error:
        fail(str(error))
    except KeyboardInterrupt:
        fail("interrupted; run the same command again to continue", 130)
    except BrokenPipeError:  # the reader has seen enough, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except OSError as error:
        if error.errno not in DISK:
            raise
        fail(f"{error.filename or 'writing'}: {error.strerror}; {DISK[error.errno]}")
    except ModuleNotFoundError as error:
        fail(f"the package '{error.name}' is not installed; run `pip install 'rsi[all]'`")


def fail(message: str, code: int = 2) -> None:
    tell(f"rsi: {' '.join(message.split())}")
    sys.exit(code)
