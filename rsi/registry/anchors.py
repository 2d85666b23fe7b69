"""The ledger's anchors: a small file a lineage, outside the store, that says how far its chain had come."""

import os
import tempfile
from pathlib import Path

from pydantic import ValidationError

from rsi.errors import IntegrityError
from rsi.gate.ledger import Anchor


def anchor_file(folder: Path, lineage: str) -> Path:
    return folder / f"{lineage}.json"


def read(folder: Path, lineage: str) -> Anchor | None:
    """The anchor, or None where there is none. IntegrityError where the file holds something else."""
    path = anchor_file(folder, lineage)
    try:
        return Anchor.model_validate_json(path.read_text(encoding="utf8"))
    except FileNotFoundError:
        return None
    except PermissionError as error:
        raise IntegrityError(f"anchor {path}: it cannot be read ({error.strerror}); check its permissions") from None
    except (ValidationError, UnicodeDecodeError, OSError):
        raise IntegrityError(f"anchor {path}: it is damaged; restore it from a copy") from None


def advance(folder: Path, anchor: Anchor) -> None:
    """Put the anchor at this entry, durably. One that is as far already, or further, stays as it is."""
    present = read(folder, anchor.lineage)
    if present is not None and present.seq >= anchor.seq:
        return
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=folder, prefix=f".{anchor.lineage}-", delete=False) as made:
        made.write(anchor.model_dump_json() + "\n")
        made.flush()
        os.fsync(made.fileno())
    Path(made.name).replace(anchor_file(folder, anchor.lineage))
