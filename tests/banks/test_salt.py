import os
import threading

import pytest

from rsi.banks.salt import load_salt, salt_digest
from rsi.errors import UserError


def test_made_once_secret_and_private(tmp_path):
    home = tmp_path / "home"
    salt = load_salt(home)
    assert len(salt) == 32
    assert load_salt(home) == salt
    assert (home / "salt").stat().st_mode & 0o777 == 0o600
    assert sorted(path.name for path in home.iterdir()) == ["salt"]  # no temporary file stays
    assert load_salt(tmp_path / "other") != salt


def test_many_creators_agree(tmp_path):
    found = []
    threads = [threading.Thread(target=lambda: found.append(load_salt(tmp_path))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert len(set(found)) == 1


def test_digest_does_not_hold_the_salt():
    salt = os.urandom(32)
    assert len(salt_digest(salt)) == 32
    assert salt.hex() not in salt_digest(salt)
    assert salt_digest(salt) != salt_digest(os.urandom(32))


def test_damage_is_told_in_one_line(tmp_path):
    (tmp_path / "salt").write_bytes(b"short")
    (tmp_path / "salt").chmod(0o600)
    with pytest.raises(UserError, match="holds 5 bytes, not 32"):
        load_salt(tmp_path)
    (tmp_path / "salt").chmod(0o644)
    with pytest.raises(UserError, match="chmod 600"):
        load_salt(tmp_path)
    with pytest.raises(UserError, match="salt"):
        load_salt(tmp_path / "salt")  # a file stands where the folder should be
