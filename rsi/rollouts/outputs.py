"""What a document wants kept of a workspace after an episode: recorded with the attempt, the files put into a folder.

They are for people: no agent and no proposer is shown any of it, and what is for the verifier alone is not kept."""

import hashlib
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from rsi.hcp.provenance import collect
from rsi.types import CollectedOutput, DeclaredOutput

MOST_PATH = 1000  # bytes of a path that is kept: a workspace takes longer ones than a folder deep in this machine does


def collected(
    outputs: Sequence[DeclaredOutput], files: Mapping[str, bytes]
) -> tuple[tuple[CollectedOutput, ...], dict[str, bytes]]:
    """A record of each output, and the files to keep by path, from `files`, the workspace as it was taken out."""
    hidden = [PurePosixPath(output.path) for output in outputs if output.visibility == "verifier"]
    open_files = {p: data for p, data in files.items() if not any(PurePosixPath(p).is_relative_to(h) for h in hidden)}
    records: list[CollectedOutput] = []
    kept: dict[str, bytes] = {}
    for output in outputs:
        told = {"name": output.name, "required": output.required, "visibility": output.visibility}
        try:
            found = collect(output, files if output.visibility == "verifier" else open_files)
            _check_paths(output, found)
        except ValueError as error:
            records.append(CollectedOutput.model_validate({**told, "status": "refused", "why": str(error)}))
            continue
        shown = {} if output.visibility == "verifier" else dict(sorted(found.items()))
        hashes = {path: hashlib.sha256(data).hexdigest() for path, data in shown.items()}
        told |= {"status": "collected" if found else "missing", "files": hashes}
        records.append(CollectedOutput.model_validate(told))
        kept |= shown
    return tuple(records), kept


def _check_paths(output: DeclaredOutput, found: Mapping[str, bytes]) -> None:
    """ValueError where a path cannot be kept, whatever folder the files are put into."""
    if any(len(path.encode()) > MOST_PATH for path in found):
        raise ValueError(f"output {output.name!r} holds a path of more than {MOST_PATH} bytes")


def keep(folder: Path, attempt: str, files: Mapping[str, bytes]) -> None:
    """Put `files` into `folder`/`attempt`, in place of what stands there, whole or not at all. OSError where the disk
    refuses them."""
    there, fresh = folder / attempt, folder / f".{attempt}.{os.getpid()}"
    shutil.rmtree(fresh, ignore_errors=True)
    for path, data in files.items():
        (fresh / path).parent.mkdir(parents=True, exist_ok=True)
        (fresh / path).write_bytes(data)
    shutil.rmtree(there, ignore_errors=True)
    fresh.rename(there)
