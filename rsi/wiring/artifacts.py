"""What a lineage stands on outside of the store: the files of its adapters and of its base, against their digests."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from rsi.config import home
from rsi.errors import IntegrityError, RsiError, UserError
from rsi.ids import digest_file
from rsi.models.embedded.fetch import NAME, local_folder
from rsi.models.scripted import load_table
from rsi.registry.champions import Champions
from rsi.registry.engine import Database
from rsi.registry.store import SqlStore
from rsi.results import Results
from rsi.types import PairRecord
from rsi.update.adapters import open_revision
from rsi.weights import check_content
from rsi.wiring.paths import adapters


def check_adapters(record: PairRecord) -> None:
    """Raise IntegrityError or UserError where an adapter of the pair is gone, or is not what its name says."""
    for name in record.pair.adapters.values():
        open_revision(adapters(), name)


def damages(lineage: str, database: Database) -> Sequence[str]:
    """One line for each adapter of a published pair, and for the base, whose files are not what the record names. An
    adapter that is gone counts where its pair was champion: the others may be removed. The base is looked at where its
    files lie on this machine."""
    champions = Champions(database)
    kept = {step.pair for step in champions.history(lineage)}
    found = list(_base(lineage, database))
    for record in champions.lineage(lineage):
        try:
            check_adapters(record)
        except UserError as error:
            found += [f"pair {record.pair.name}: {error}"] if record.pair.digest in kept else []
        except IntegrityError as error:
            found.append(f"pair {record.pair.name}: {error}")
    return list(dict.fromkeys(found))


def _base(lineage: str, database: Database) -> Iterator[str]:
    results = Results(lineage, SqlStore(database), Champions(database))
    champion = results.registry.current(lineage)
    begun = [n for n in range(results.next_owed(), 0, -1) if results.done(n, "start")]
    if champion is None or not begun:
        return
    model = str(results.begun_with(begun[0]).get("model", {}).get("id", ""))
    try:
        _check_base(model, champion.pair.base)
    except RsiError as error:
        yield str(error)


def _check_base(model: str, expected: str) -> None:
    kind, _, rest = model.partition(":")
    if kind in ("scripted", "replay"):
        if Path(rest).is_file():
            found = load_table(Path(rest)).digest if kind == "scripted" else digest_file(Path(rest))[:32]
            if found != expected:
                raise IntegrityError(
                    f"base model {rest}: it has digest {found}, not {expected}; restore it from a copy"
                )
        return
    with suppress(OSError, ValueError, RuntimeError):  # a name that can be no path is none
        folder = home() / "models" / NAME if model == "embedded" else local_folder(model)
        if folder is not None and folder.is_dir():
            check_content(folder, expected)
