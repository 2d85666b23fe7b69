"""`rsi hcp`: check, show, diff and pack HCP documents, and their schema."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rsi.cli.out import say, say_json, say_line

if TYPE_CHECKING:
    from rsi.hcp.document import Document

app = typer.Typer(no_args_is_help=True, help="Harness configuration documents.")
DocumentPath = Annotated[Path, typer.Argument(help="An HCP document (TOML).")]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON value.")]


def _packed(path: Path) -> "Document":
    """The document with the files that it names."""
    from rsi.config import project_root
    from rsi.hcp.document import load
    from rsi.hcp.pack import pack

    return pack(load(path), path.parent, project_root())


@app.command()
def check(path: DocumentPath, as_json: AsJson = False) -> None:
    """Parse a document and name whatever it says that this harness does not do."""
    from rsi.hcp.check import check as check_document
    from rsi.hcp.document import load

    document = load(path)
    _packed(path).harness()
    notes = check_document(document)
    if as_json:
        say_json({"digest": document.digest, "notes": notes})
    else:
        for line in (f"{path}: valid, digest {document.digest}", *(f"note: {note}" for note in notes)):
            say_line(line)


@app.command()
def show(path: DocumentPath) -> None:
    """Print what the episode loop reads of a document, as JSON."""
    say_json(_packed(path).harness(), indent=2)


@app.command()
def schema() -> None:
    """Print the JSON Schema of a document."""
    from rsi.hcp.schema import schema as made

    say_json(made(), indent=2, sort_keys=True)


@app.command()
def pack(
    path: DocumentPath, out: Annotated[Path, typer.Option("--out", "-o", help="Where the portable document goes.")]
) -> None:
    """Embed the files that a document names by path, so that it can be moved and its digest covers them."""
    from rsi.errors import UserError
    from rsi.hcp.pack import write

    document = _packed(path)
    document.harness()
    try:
        write(out, document.text)
    except OSError as error:
        raise UserError(f"{out}: cannot be written ({error.strerror}); check path and permissions") from None
    say_line(f"{out}: digest {document.digest}")


@app.command()
def provider(path: DocumentPath) -> None:
    """The model that a document names, as an entry of a registry: names of secrets, never their values."""
    from rsi.config import project_root
    from rsi.hcp.document import load
    from rsi.hcp.env import environment
    from rsi.hcp.provider import provider as entry

    document = load(path)
    found = entry(document, environment(document, path.parent, project_root(), os.environ))
    say_json(found, indent=2)


@app.command()
def workspace(path: DocumentPath) -> None:
    """What a document's workspace comes to, as JSON: entries, targets, checksums. Secrets are masked."""
    from rsi.hcp.provenance import provenance

    say_json(provenance(_packed(path)), indent=2)


@app.command()
def diff(before: DocumentPath, after: DocumentPath, as_json: AsJson = False) -> None:
    """What differs between two documents, key by key, with the risk class of each difference."""
    from dataclasses import asdict

    from rsi.hcp.diff import diff as differences
    from rsi.hcp.diff import render
    from rsi.hcp.document import load

    found = differences(load(before), load(after))
    if as_json:
        say_json([asdict(item) for item in found])
    else:
        say(render(found))
