"""`rsi hcp`: check, show and diff HCP documents."""

import json
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(no_args_is_help=True, help="Harness configuration documents.")
DocumentPath = Annotated[Path, typer.Argument(help="An HCP document (TOML).")]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON value.")]


@app.command()
def check(path: DocumentPath, as_json: AsJson = False) -> None:
    """Parse a document and name whatever it says that this harness does not do."""
    from rsi.hcp.check import check as check_document
    from rsi.hcp.document import load

    document = load(path)
    document.harness()
    notes = check_document(document)
    if as_json:
        print(json.dumps({"digest": document.digest, "notes": notes}))
    else:
        print("\n".join([f"{path}: valid, digest {document.digest}", *(f"note: {note}" for note in notes)]))


@app.command()
def show(path: DocumentPath) -> None:
    """Print what the episode loop reads of a document, as JSON."""
    from rsi.hcp.document import load

    print(load(path).harness().model_dump_json(indent=2))


@app.command()
def diff(before: DocumentPath, after: DocumentPath, as_json: AsJson = False) -> None:
    """What differs between two documents, key by key, with the risk class of each difference."""
    from dataclasses import asdict

    from rsi.hcp.diff import diff as differences
    from rsi.hcp.diff import render
    from rsi.hcp.document import load

    found = differences(load(before), load(after))
    print(json.dumps([asdict(item) for item in found], default=str) if as_json else render(found))
