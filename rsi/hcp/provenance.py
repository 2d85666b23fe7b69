"""What became of a document's workspace: what stood where, and what was collected. Secrets are masked, and of an entry
for the verifier alone only its name is told."""

import hashlib
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

from rsi.hcp.document import Document
from rsi.hcp.form.workspace import EMBEDDED, Output
from rsi.hcp.secret import redact
from rsi.types import DeclaredOutput

HIDDEN = "[for the verifier alone]"


def provenance(document: Document, outputs: Mapping[str, bytes] | None = None) -> dict[str, Any]:
    """Plain values for JSON. `outputs` are the files of the workspace after the run, or None where none was."""
    form, harness = document.form, document.harness()
    entries: list[dict[str, Any]] = []
    for entry in form.workspace.entries:
        if entry.visibility == "verifier":
            entries.append({"name": entry.name, "visibility": "verifier", "source": HIDDEN, "realised": "no"})
            continue
        hashes = {f.path: f.sha256 for f in form.rsi.files if f.entry == entry.name}
        if entry.source == EMBEDDED:
            hashes = {e.path: e.sha256 for e in form.resources.embedded}
        entries.append(
            {
                "name": entry.name,
                "visibility": entry.visibility,
                "source": redact(entry.source),
                "target": form.workspace.target(entry),
                "mode": entry.mode,
                "realised": ("copy" if entry.mode == "mount" else entry.mode) if hashes else "missing",
                "sha256": hashes,
            }
        )
    told: dict[str, Any] = {"version": 1, "document": document.digest, "root": form.workspace.root, "entries": entries}
    told["files"] = sorted(file.path for file in harness.files)
    if outputs is not None:
        told["outputs"] = [_output(item, form.workspace.root, outputs) for item in form.workspace.outputs]
    return told


def collect(output: DeclaredOutput, files: Mapping[str, bytes]) -> dict[str, bytes]:
    """The files that an output names, from a workspace after the run. ValueError where its limits are passed."""
    here = PurePosixPath(output.path)
    found = {path: data for path, data in files.items() if PurePosixPath(path).is_relative_to(here)}
    total = sum(map(len, found.values()))
    largest = max(map(len, found.values()), default=0)
    if len(found) > output.max_files or total > output.max_total_bytes or largest > output.max_file_bytes:
        raise ValueError(f"output {output.name!r} is larger than its limits: {len(found)} files, {total} bytes")
    return found


def _output(output: Output, root: str, files: Mapping[str, bytes]) -> dict[str, Any]:
    told: dict[str, Any] = {"name": output.name, "required": output.required, "visibility": output.visibility}
    try:
        found = collect(output.declared(root), files)
    except ValueError as error:
        return {**told, "status": "refused", "why": redact(str(error))}
    if output.visibility == "verifier":
        return {**told, "status": "collected" if found else "missing"}
    hashes = {path: hashlib.sha256(data).hexdigest() for path, data in sorted(found.items())}
    return {**told, "status": "collected" if found else "missing", "sha256": hashes}
