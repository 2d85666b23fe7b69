"""`rsi compare`, `lineage`, `rollback`: pairs and their history."""

from typing import Annotated

import typer

from rsi.cli.cycle import DEMO, AsJson, SettingsPath, settled
from rsi.cli.out import say, say_json, say_line

Pair = Annotated[str, typer.Argument(help="A pair: its name or a beginning of its digest.")]


def register(app: typer.Typer) -> None:
    for command in (compare, lineage, rollback):
        app.command()(command)


def compare(a: Pair, b: Pair, settings: SettingsPath = DEMO, as_json: AsJson = False) -> None:
    """Two pairs side by side: what they are made of, their figures with n and interval, and their documents' diff."""
    from rsi.registry.compare import compare as rows_of
    from rsi.registry.compare import document_diff
    from rsi.wiring.pairs import find_pair
    from rsi.wiring.pairs import lineage as pairs_of

    records, _ = pairs_of(settled(settings))
    left, right = find_pair(records, a), find_pair(records, b)
    rows = rows_of(left, right)
    if as_json:
        say_json([row._asdict() for row in rows])
        return
    for row in rows:
        say_line(f"{' ' if row.same else '*'} {row.what:45} {row.a:32} {row.b}")
    say(document_diff(left, right))


def lineage(settings: SettingsPath = DEMO, as_json: AsJson = False) -> None:
    """Every pair of a lineage, what it is made of and what became of it. Exit code 2 where files of theirs were
    changed."""
    from rsi.errors import IntegrityError
    from rsi.registry.compare import steps
    from rsi.wiring.pairs import damaged_files, ledger_head
    from rsi.wiring.pairs import lineage as pairs_of

    chosen = settled(settings)
    found = steps(*pairs_of(chosen))
    if as_json:
        say_json([step._asdict() for step in found])
        return
    for step in found:
        say_line(f"generation {step.generation}  {step.pair}  {step.role}  from {step.parent or 'the start'}")
        say_line(f"{'':14}hcp {step.hcp}, adapters {step.adapters}")
        for event in step.history:
            say_line(f"{'':14}{event}")
    say_line(f"ledger: {ledger_head(chosen)}")
    if damaged := damaged_files(chosen):
        raise IntegrityError(damaged[0] + (f" ({len(damaged) - 1} more)" if len(damaged) > 1 else ""))


def rollback(
    to: Pair,
    settings: SettingsPath = DEMO,
    reason: Annotated[str, typer.Option(help="Kept in the history.")] = "",
) -> None:
    """Make an earlier champion champion again; the history only grows."""
    from rsi.wiring.pairs import rollback as roll_back

    record = roll_back(settled(settings), to, reason)
    say_line(f"champion of '{record.lineage}' is {record.pair.name} again")
