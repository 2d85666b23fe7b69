"""The home's secret salt makes sealed instances unforeseeable. Its bytes stay in one file; its digest is recorded."""

import hashlib
import os
import secrets
import tempfile
from pathlib import Path

from rsi.errors import UserError

SALT_BYTES = 32


def load_salt(home: Path) -> bytes:
    """The 32 secret bytes of this home, made on first use. UserError where the file is damaged or cannot be written."""
    path = home / "salt"
    try:
        if not path.exists():
            _create(path)
        if path.stat().st_mode & 0o077:
            raise UserError(f"{path}: other users may read the secret salt; run: chmod 600 {path}")
        salt = path.read_bytes()
    except OSError as error:
        raise UserError(
            f"{path}: the secret salt cannot be made or read ({error.strerror}); check the folder"
        ) from None
    if len(salt) != SALT_BYTES:
        raise UserError(f"{path}: holds {len(salt)} bytes, not {SALT_BYTES}; restore it, or use another RSI_HOME")
    return salt


def salt_digest(salt: bytes) -> str:
    """What may be recorded of a salt."""
    return hashlib.sha256(b"rsi salt\0" + salt).hexdigest()[:32]


def _create(path: Path) -> None:
    """Whole or not at all, and the first of two creators wins: a link to a complete file cannot replace another."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".salt-")  # made with mode 0600
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(secrets.token_bytes(SALT_BYTES))
            file.flush()
            os.fsync(file.fileno())
        os.link(temporary, path)
    except FileExistsError:
        pass
    finally:
        Path(temporary).unlink()
