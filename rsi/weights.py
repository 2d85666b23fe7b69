"""A base model's folder as content: which files are the model, their digest, and whether they still have it.

Knows files only; neither torch nor where a folder came from.
"""

import json
from collections.abc import Mapping
from pathlib import Path

from rsi.errors import IntegrityError, UserError
from rsi.ids import digest, digest_file

METADATA = "rsi-model.json"  # of a folder that we made: {"digest": ..., "files": {name: SHA-256}}
CONTENT = (".safetensors", ".bin", ".json", ".jinja", ".model", ".txt", ".tiktoken")  # weights, config, tokenizer


def content_files(folder: Path) -> list[Path]:
    return sorted(p for p in folder.iterdir() if p.is_file() and p.suffix in CONTENT and p.name != METADATA)


def file_digests(folder: Path) -> dict[str, str]:
    """SHA-256 of each file of the model, by name."""
    return {file.name: digest_file(file) for file in content_files(folder)}


def content_digest(files: Mapping[str, str]) -> str:
    """The base's digest, from those of its files."""
    return digest([[name, files[name]] for name in sorted(files)])


def check_content(folder: Path, expected: str) -> None:
    """Read the whole folder. IntegrityError where its digest is not `expected`, naming the file where it is known
    which one it is; UserError where the folder cannot be read."""
    try:
        files = file_digests(folder)
    except OSError as error:
        raise UserError(f"base model {error.filename or folder}: {error.strerror}; restore it") from None
    if (found := content_digest(files)) == expected:
        return
    changed = [name for name, known in recorded_files(folder).items() if files.get(name) != known]
    named = f"{folder / changed[0]}: it was changed or removed: the base" if changed else f"{folder}: it"
    raise IntegrityError(
        f"base model {named} has digest {found}, not {expected} as recorded; restore it from a copy, or remove the "
        "folder and fetch the model again"
    )


def recorded_files(folder: Path) -> dict[str, str]:
    """What the folder's own record says of its files; empty where there is none."""
    try:
        files = json.loads((folder / METADATA).read_text(encoding="utf8"))["files"]
        return {str(name): str(value) for name, value in files.items()}
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return {}
