"""[session] and prompt templates: what an episode opens with. Restoring is in memory and writes nothing."""

import base64
import json
import zlib

import pytest

from rsi.errors import UserError
from rsi.harness.prompt import opening
from rsi.harness.templates import expand
from rsi.hcp import check, parse
from rsi.hcp.pack import pack
from rsi.hcp.snapshot import MAX_BYTES, decode, encode, read
from rsi.types import Message, Prompt, Recipe, Task

SAID = (Message(role="user", content="What is 2+2?"), Message(role="assistant", content="4 \u2713"))
TASK = Task(id="t", bank="b", recipe=Recipe(family="f"), split="train", instance=1, request="/next now please")


def document(snapshot, more=""):
    lines = "".join(f"{key} = {json.dumps(value)}\n" for key, value in snapshot.items())
    return parse(f"version = 1\n{more}[session]\nmode = 'in_memory'\n[session.snapshot]\n{lines}", "x")


def raw(value):
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.b64encode(zlib.compress(data)).decode()


def test_a_snapshot_survives_and_is_restored_before_the_request():
    assert encode(SAID) == encode(SAID) and decode(encode(SAID)["content"]) == SAID
    harness = document(encode(SAID)).harness()
    assert harness.restored == SAID
    assert opening(TASK, harness)[-3:-1] == SAID and opening(TASK, harness)[-1].role == "user"
    assert check(document(encode(SAID))) == []


@pytest.mark.parametrize(
    "value",
    [
        [{"role": "user", "content": "a"}, {"role": "assistant", "content": [{"type": "text", "text": "b"}]}],
        {"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]},
        {"entries": [
            {"type": "session", "id": 1}, {"type": "message", "message": {"role": "user", "content": "a"}},
            {"type": "message", "message": {"role": "assistant", "content": [{"type": "thinking", "thinking": "x"},
                                                                             {"type": "text", "text": "b"}]}},
        ]},
    ],
)  # fmt: skip
def test_forms_of_a_session(value):
    expected = (Message(role="user", content="a"), Message(role="assistant", content="b"))
    assert decode(raw(value)) == expected
    entries = value if isinstance(value, list) else next(iter(value.values()))
    assert read("\n".join(map(json.dumps, entries)).encode()) == expected


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("!", "zlib"),
        (base64.b64encode(b"plain").decode(), "zlib"),
        (raw([]), "no messages"),
        (raw({"x": 1}), "no list"),
        (raw(b"{"), "not JSON"),
        (raw(b"\xff"), "UTF-8"),
        (raw(b"[" * 100_000), "JSON|deeply"),
        (raw(b"0" * (MAX_BYTES + 10)), "more than"),
        (raw([{"role": "user", "content": "a"}] * 2000), "at most"),
    ],
)
def test_bad_snapshots_are_one_clear_line(content, words):
    with pytest.raises(UserError, match=f"session.snapshot.*({words})"):
        document({"encoding": "zlib+base64+json", "content": content})


def test_an_unknown_encoding_and_open_without_path_are_refused():
    with pytest.raises(UserError, match=r"session\.snapshot\.encoding"):
        document({"encoding": "json", "content": "x"})
    with pytest.raises(UserError, match=r"session.*needs a 'path'"):
        parse('version = 1\n[session]\nmode = "open"\n', "x")
    with pytest.raises(UserError, match=r"session\.mode"):
        parse('version = 1\n[session]\nmode = "resume"\n', "x")


@pytest.mark.parametrize("line", ['snapshot_path = "old.jsonl"', 'mode = "open"\nsessionPath = "old.jsonl"'])
def test_a_session_file_is_packed_and_never_written(tmp_path, line):
    file = tmp_path / "old.jsonl"
    file.write_text("\n".join(message.model_dump_json() for message in SAID))
    before = (file.read_bytes(), file.stat().st_mtime_ns)
    written = parse(f"version = 1\n[session]\n{line}\n", "x")
    with pytest.raises(UserError, match="pack"):
        written.harness()
    packed = pack(written, tmp_path, tmp_path)
    file.rename(tmp_path / "moved")
    assert packed.harness().restored == SAID
    assert (tmp_path / "moved").read_bytes() == before[0] and len(list(tmp_path.iterdir())) == 1


def test_templates():
    prompts = [Prompt(name="next", text="Do $1, then $2$3. All: $@ ($ARGUMENTS) $0 $x")]
    assert expand("/next now please", prompts) == "Do now, then please. All: now please (now please)  $x"
    assert expand("/next", prompts) == "Do , then . All:  ()  $x"
    for plain in ("next", "/other a", "see /next", ""):
        assert expand(plain, prompts) == plain
    assert expand("/next $1", prompts).startswith("Do $1, then")
