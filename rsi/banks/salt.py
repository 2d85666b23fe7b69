"""The home's secret salt makes sealed instances unforeseeable. Its bytes stay in one file; its digest is recorded."""

import hashlib
import hmac
import os
import secrets
import tempfile
from pathlib import Path

from rsi.errors import UserError

SALT_BYTES = 32
CONSONANTS, WORD_LETTERS = "bcdfghjklmnpqrstvwxz", 7


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


def planted_word(salt: bytes, lineage: str) -> str:
    """A word that stands in the keys of a lineage's canaries and nowhere else. It tells nothing of the salt.

    Short, for who knows it must be able to say it within the tightest budgets; consonants alone, for no honest text and
    no digest holds seven in a row by chance."""
    number, letters = int.from_bytes(hmac.digest(salt, b"rsi canary\0" + lineage.encode(), "sha256"), "big"), ""
    while len(letters) < WORD_LETTERS:
        number, n = divmod(number, len(CONSONANTS))
        letters += CONSONANTS[n]
    return letters


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
