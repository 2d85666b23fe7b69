"""Identity by content: canonical JSON, digests, and seeds derived from names."""

import hashlib
import json
from pathlib import Path
from typing import Any


def canonical(value: Any) -> bytes:
    """UTF-8 JSON with sorted keys and no spaces; equal content gives equal bytes. NaN is refused (ValueError)."""
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False, default=_plain
    ).encode()


def _plain(value: Any) -> Any:
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    return str(value)  # dates of TOML documents


def digest(value: Any) -> str:
    """Hex sha256 of the canonical form, shortened to 32 digits (128 bits)."""
    return hashlib.sha256(canonical(value)).hexdigest()[:32]


def digest_file(path: Path) -> str:
    """Full hex sha256 of a file's bytes."""
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def digest_tree(folder: Path, pattern: str = "*") -> str:
    """One digest over the relative names and contents of a folder's files that match `pattern`."""
    files = sorted(p for p in folder.rglob(pattern) if p.is_file() and "__pycache__" not in p.parts)
    return digest([[str(p.relative_to(folder)), digest_file(p)] for p in files])


def seed_of(*parts: Any) -> int:
    """A 63-bit seed derived from `parts`: the same parts give the same seed on every machine."""
    return int.from_bytes(hashlib.sha256(canonical(parts)).digest()[:8], "big") >> 1
