"""Adapter revisions on disk: an immutable PEFT folder under its content name, files first, metadata last.

Knows files only; neither torch nor PEFT. The name depends on weights and configuration, never on machine or time.
"""

import json
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rsi.errors import IntegrityError, TrainingError, UserError
from rsi.ids import canonical, digest, digest_file
from rsi.types import AdapterRevision

WEIGHTS, CONFIG, METADATA = "adapter_model.safetensors", "adapter_config.json", "revision.json"
# Where the training ran and what it ran on: not part of what the adapter is.
_LOCAL_KEYS = ("base_model_name_or_path", "revision", "auto_mapping", "peft_version")


def publish(
    folder: Path, out: Path, parent: str | None = None, steps: int = 0, metrics: Sequence[Mapping[str, float]] = ()
) -> AdapterRevision:
    """Export the PEFT folder `folder` as `out`/<content name>. The same content again is the one already there.

    A process killed in here leaves only a hidden folder, swept by the next call. TrainingError where `folder` is no
    saved adapter."""
    if not (folder / WEIGHTS).is_file() or not (folder / CONFIG).is_file():
        raise TrainingError(f"{folder}: holds no {WEIGHTS} with {CONFIG}; save the adapter there first")
    config = _canonical_config(json.loads((folder / CONFIG).read_text(encoding="utf8")))
    name = digest([digest_file(folder / WEIGHTS), config])
    if (out / name).exists():
        return open_revision(out, name)
    out.mkdir(parents=True, exist_ok=True)
    for torn in out.glob(f".{name}.*"):
        shutil.rmtree(torn, ignore_errors=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{name}.", dir=out))
    shutil.copyfile(folder / WEIGHTS, temporary / WEIGHTS)
    (temporary / CONFIG).write_bytes(canonical(config))
    metadata = {
        "name": name,
        "parent": parent,
        "steps": steps,
        "metrics": [dict(step) for step in metrics],
        "files": {file: digest_file(temporary / file) for file in (WEIGHTS, CONFIG)},
    }
    _sync(temporary / WEIGHTS, temporary / CONFIG)
    (temporary / METADATA).write_bytes(canonical(metadata))
    _sync(temporary / METADATA, temporary)
    temporary.chmod(0o755)
    try:
        temporary.rename(out / name)
    except OSError:  # another process published the same content first
        shutil.rmtree(temporary, ignore_errors=True)
    _sync(out)
    return open_revision(out, name)


def open_revision(root: Path, name: str) -> AdapterRevision:
    """The revision `root`/`name`, all of its content checked against its name. UserError where it is not there;
    IntegrityError, naming file and digests, where it is not what the name says."""
    folder = root / name
    if not (folder / METADATA).is_file():
        raise UserError(
            f"{folder}: is no adapter revision (no {METADATA}); restore it, train again or correct the name"
        )
    try:
        metadata = json.loads((folder / METADATA).read_text(encoding="utf8"))
        recorded = {file: str(metadata["files"][file]) for file in (WEIGHTS, CONFIG)}
        for file, expected in recorded.items():
            found = digest_file(folder / file) if (folder / file).is_file() else "none: it is gone"
            if found != expected:
                raise IntegrityError(f"{folder / file}: its digest is {found}, not {expected} as published; {_REMEDY}")
        content = digest([recorded[WEIGHTS], json.loads((folder / CONFIG).read_text(encoding="utf8"))])
        if content != name or metadata["name"] != name:
            raise IntegrityError(f"{folder}: its content is not what its name says, but {content}; {_REMEDY}")
        return AdapterRevision(
            name=name,
            path=str(folder),
            parent=metadata["parent"],
            steps=metadata["steps"],
            metrics=tuple(metadata["metrics"]),
        )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise IntegrityError(f"{folder / METADATA}: it is damaged; {_REMEDY}") from None


_REMEDY = "restore the folder from a copy, or go back to an earlier champion with `rsi rollback`"


def _canonical_config(config: dict[str, Any]) -> dict[str, Any]:
    """Without what belongs to the machine; sets that PEFT saves in any order are sorted."""
    kept = {key: value for key, value in config.items() if key not in _LOCAL_KEYS}
    for key in ("target_modules", "exclude_modules", "modules_to_save"):
        if isinstance(kept.get(key), list):
            kept[key] = sorted(kept[key])
    return kept


def _sync(*paths: Path) -> None:
    for path in paths:
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
