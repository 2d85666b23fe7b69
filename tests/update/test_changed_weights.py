"""What is loaded is what its digest says: an adapter's folder, and the base's."""

import json
import shutil

import pytest
from test_adapters import saved

from rsi.errors import IntegrityError, RsiError, UserError
from rsi.update.adapters import CONFIG, METADATA, WEIGHTS, open_revision, publish
from rsi.weights import check_content, content_digest, file_digests


def rewrite(folder, file_name, **changes):
    file = folder / file_name
    file.write_text(json.dumps({**json.loads(file.read_text()), **changes}))


def swap(folder):
    other = publish(saved(folder.parent / "saved", weights=b"others"), folder.parent)
    name = folder.name
    shutil.rmtree(folder)
    shutil.copytree(other.path, folder)
    assert folder.name == name


def rehash(folder):
    """Other weights, and metadata that vouches for them."""
    (folder / WEIGHTS).write_bytes(b"others")
    from rsi.ids import digest_file

    rewrite(folder, METADATA, files={name: digest_file(folder / name) for name in (WEIGHTS, CONFIG)})


CHANGES = {
    "weights": lambda f: (f / WEIGHTS).write_bytes(b"weightz"),
    "weights cut": lambda f: (f / WEIGHTS).write_bytes(b"weight"),
    "weights emptied": lambda f: (f / WEIGHTS).write_bytes(b""),
    "weights removed": lambda f: (f / WEIGHTS).unlink(),
    "weights and metadata": rehash,
    "rank": lambda f: rewrite(f, CONFIG, r=8),
    "scale": lambda f: rewrite(f, CONFIG, lora_alpha=-64),
    "one key more": lambda f: rewrite(f, CONFIG, base_model_name_or_path="/evil"),
    "configuration removed": lambda f: (f / CONFIG).unlink(),
    "configuration no JSON": lambda f: (f / CONFIG).write_text("{"),
    "another name inside": lambda f: rewrite(f, METADATA, name="other"),
    "no files": lambda f: rewrite(f, METADATA, files={}),
    "files a list": lambda f: rewrite(f, METADATA, files=[]),
    "no steps": lambda f: (f / METADATA).write_text('{"name": "x"}'),
    "metadata a list": lambda f: (f / METADATA).write_text("[]"),
    "metadata no text": lambda f: (f / METADATA).write_bytes(b"\xff\xfe"),
    "metadata deep": lambda f: (f / METADATA).write_text("[" * 100_000),
    "metadata removed": lambda f: (f / METADATA).unlink(),
    "another revision under its name": swap,
    "folder removed": shutil.rmtree,
}


@pytest.mark.parametrize("change", CHANGES)
def test_an_adapter_that_was_changed_is_refused_in_one_line(tmp_path, change):
    revision = publish(saved(tmp_path / "a"), tmp_path / "out")
    CHANGES[change](tmp_path / "out" / revision.name)
    with pytest.raises((IntegrityError, UserError)) as caught:
        open_revision(tmp_path / "out", revision.name)
    assert revision.name in str(caught.value) and "\n" not in str(caught.value) and "restore" in str(caught.value)


def test_the_line_names_the_file_and_both_digests(tmp_path):
    revision = publish(saved(tmp_path / "a"), tmp_path / "out")
    (tmp_path / "out" / revision.name / WEIGHTS).write_bytes(b"others")
    with pytest.raises(IntegrityError, match=rf"{WEIGHTS}: its digest is \w{{64}}, not \w{{64}} as published"):
        open_revision(tmp_path / "out", revision.name)


def base(folder):
    folder.mkdir()
    for name in ("config.json", "model.safetensors", "tokenizer.json", "chat_template.jinja", "README.md"):
        (folder / name).write_text(name)
    files = file_digests(folder)
    (folder / "rsi-model.json").write_text(json.dumps({"digest": content_digest(files), "files": files}))
    return content_digest(files)


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "tokenizer.json", "chat_template.jinja"])
@pytest.mark.parametrize("how", ["changed", "removed", "recorded anew"])
def test_a_base_that_was_changed_is_refused_in_one_line(tmp_path, name, how):
    folder = tmp_path / "base"
    expected = base(folder)
    (folder / name).unlink() if how == "removed" else (folder / name).write_text("other")
    if how == "recorded anew":
        files = file_digests(folder)
        (folder / "rsi-model.json").write_text(json.dumps({"digest": content_digest(files), "files": files}))
    with pytest.raises(IntegrityError, match="restore it from a copy") as caught:
        check_content(folder, expected)
    assert "\n" not in str(caught.value) and (how == "recorded anew" or name in str(caught.value))


def test_a_file_more_is_another_base_and_a_card_is_not(tmp_path):
    folder = tmp_path / "base"
    expected = base(folder)
    (folder / "README.md").write_text("another card")
    check_content(folder, expected)
    (folder / "generation_config.json").write_text('{"temperature": 9}')
    with pytest.raises(IntegrityError):
        check_content(folder, expected)


def test_a_base_that_cannot_be_read_is_one_line(tmp_path):
    with pytest.raises(RsiError, match="restore it"):
        check_content(tmp_path / "none", "x")
