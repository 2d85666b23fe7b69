"""`rsi ledger verify|show`: what was recorded of looks, verdicts, reviews and promotions, and whether it is whole."""

import json
import time
from typing import TYPE_CHECKING, Any

import typer

from rsi.cli.cycle import DEMO, AsJson, SettingsPath, settled
from rsi.cli.out import say_json, say_line, tell

if TYPE_CHECKING:
    from rsi.gate.ledger import Entry

app = typer.Typer(help="The ledger of a lineage.", no_args_is_help=True)


@app.command()
def verify(settings: SettingsPath = DEMO, as_json: AsJson = False) -> None:
    """Check chain, anchors, signatures and the rows that it vouches for. Exit code 1 where something is wrong."""
    from rsi.config import home
    from rsi.errors import UserError
    from rsi.wiring.ledger import examine

    chosen = settled(settings)
    found = examine(chosen, tell)
    if not found.entries and not found.faults:
        raise UserError(f"lineage '{chosen.lineage}' has no ledger in {home()}; check its name, and RSI_HOME")
    head = found.entries[-1] if found.entries else None
    if as_json:
        shown = {"seq": head.seq, "hash": head.hash, "signed": head.signature is not None} if head else None
        counted = {"lineage": chosen.lineage, "entries": len(found.entries), "head": shown}
        say_json({**counted, "faults": list(found.faults)})
    else:
        for fault in found.faults:
            say_line(fault)
        entries = f"{len(found.entries)} entries" + (f", head {head.hash}" if head else "")
        signed = ", signed" if head and head.signature else ""
        say_line(f"ledger of '{chosen.lineage}': {entries}{signed}: {len(found.faults)} faults")
    if found.faults:
        raise typer.Exit(1)


@app.command()
def show(settings: SettingsPath = DEMO, as_json: AsJson = False) -> None:
    """Every entry, oldest first."""
    from rsi.wiring.ledger import examine

    found = examine(settled(settings), tell)
    if as_json:
        say_json([{**entry.model_dump(), "body": _content(entry)} for entry in found.entries])
        return
    for entry in found.entries:
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(entry.at))
        say_line(f"{entry.seq:4}  {when} UTC  {entry.kind:10} {_summary(entry)}  {entry.hash[:12]}")
    if found.faults:
        tell(f"{len(found.faults)} faults; `rsi ledger verify` names them")


def _summary(entry: "Entry") -> str:
    """The short values of an entry's record; digests are cut."""
    content = _content(entry)
    if not isinstance(content, dict):
        return f"not a record: {entry.body[:60]!r}"
    plain = {name: value for name, value in content.items() if isinstance(value, str | int | float) and value != ""}
    return ", ".join(f"{name} {str(value)[:24]}" for name, value in list(plain.items())[:6])


def _content(entry: "Entry") -> Any:
    """What an entry's body says; the text itself where it is no JSON."""
    try:
        return json.loads(entry.body)
    except (ValueError, RecursionError):
        return entry.body
