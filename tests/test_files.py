"""Files that people wrote: whatever is wrong with one is one line that names it."""

import os
import socket
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rsi.banks.catalogue import load_catalogue
from rsi.banks.definition import load_definition
from rsi.config import load_settings
from rsi.errors import UserError
from rsi.files import MAX_BYTES, load_json, load_toml, parse_json, parse_toml, read_text
from rsi.gate.contract import load_contract
from rsi.hcp.document import load
from rsi.models.replay import read_tape
from rsi.models.scripted import load_table

ROOT = Path(__file__).resolve().parents[1]
BOM = b"\xef\xbb\xbf"


def bank(read):
    """A reader of a file in a bank's folder, as a reader of any file."""

    def from_path(path: Path):
        folder = path.parent / "bank"
        folder.mkdir()
        for name in ("bank.toml", "catalogue.toml"):
            (folder / name).write_bytes((ROOT / "task_banks/reason" / name).read_bytes())
        (folder / read.__name__).unlink()
        (folder / read.__name__).symlink_to(path)
        return read(folder)

    return from_path


def named(read, name):
    def reader(folder):
        return read(folder)

    reader.__name__ = name
    return bank(reader)


READERS = {
    "settings": load_settings,
    "contract": load_contract,
    "document": load,
    "bank": named(load_definition, "bank.toml"),
    "catalogue": named(load_catalogue, "catalogue.toml"),
    "table": load_table,
}
TOML = {
    "empty key": b"= 1",
    "cut off": b"a = [1,",
    "latin 1": b"a = '\xe9'",
    "surrogate in bytes": b"a = '\xed\xa0\x80'",
    "surrogate in a value": rb'a = "\ud800"',
    "surrogate in a key": rb'"\udfff" = 1',
    "zero byte": b"a = 'x\0y'",
    "UTF-16": "a = 1\n".encode("utf-16"),
    "UTF-16 without a mark": "a = 1\n".encode("utf-16-le"),
    "UTF-32": "a = 1\n".encode("utf-32"),
    "lists too deep": b"a = " + b"[" * 100_000,
    "tables too deep": b"a = " + b"{b = " * 100_000,
    "closed lists too deep": b"a = " + b"[" * 150 + b"]" * 150,
    "a dotted key too deep": b".".join([b"a"] * 100_000) + b" = 1",
    "a quoted dotted key": b".".join([b'"a b"'] * 100_000) + b" = 1",
    "a header too deep": b"[" + b" . ".join([b"a"] * 50_000) + b"]\nb = 1",
    "huge integer": b"a = " + b"9" * 5000,
    "more than 64 bits": b"a = 9223372036854775808",
    "infinite": b"a = inf",
    "infinite by size": b"a = 1e400",
    "no number": b"a = nan",
    "key twice": b"a = 1\na = 2",
    "table twice": b"[a]\n[a]",
    "too large": b"#" * (MAX_BYTES + 1),
    "binary": bytes(range(256)),
}


def refuse(read, path: Path) -> str:
    with pytest.raises(UserError) as refused:
        read(path)
    line = str(refused.value)
    assert path.name in line or "bank" in line
    assert len(line.splitlines()) == 1 and len(line) < 500
    return line


@pytest.mark.parametrize("name", TOML)
def test_bad_text_is_one_line(tmp_path, name):
    path = tmp_path / "file.toml"
    path.write_bytes(TOML[name])
    refuse(load_toml, path)


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("name", ["latin 1", "UTF-16", "lists too deep", "a dotted key too deep", "too large"])
def test_every_reader_refuses_it(tmp_path, reader, name):
    path = tmp_path / "file.toml"
    path.write_bytes(TOML[name])
    refuse(READERS[reader], path)


def strange(folder: Path, kind: str) -> Path:
    path = folder / "strange"
    match kind:
        case "device":
            path.symlink_to("/dev/zero")
        case "terminal":
            path.symlink_to("/dev/tty")
        case "pipe":
            os.mkfifo(path)
        case "socket":
            with socket.socket(socket.AF_UNIX) as bound:
                here = Path.cwd()
                os.chdir(folder)  # a socket's path is short
                try:
                    bound.bind("strange")
                finally:
                    os.chdir(here)
        case "folder":
            path.mkdir()
        case "loop":
            path.symlink_to(path)
        case "endless":
            path.symlink_to("/proc/self/pagemap")
        case "unreadable":
            path.symlink_to("/proc/self/mem")
        case "below a file":
            path.write_text("")
            return path / "strange"
        case "long":
            return folder / ("strange" * 100)
        case "zero":
            return folder / "strange\0"
    return path


KINDS = "device terminal pipe socket folder loop endless unreadable long zero missing".split()  # noqa: SIM905


@pytest.mark.parametrize("kind", [*KINDS, "below a file"])
def test_what_is_no_file_is_one_line(tmp_path, kind):
    with pytest.raises(UserError) as refused:
        read_text(strange(tmp_path, kind))
    assert "strange" in str(refused.value) and len(str(refused.value).splitlines()) == 1


@pytest.mark.parametrize("kind", ["device", "pipe", "folder", "loop", "endless", "missing"])
@pytest.mark.parametrize("reader", [*READERS, "tape"])
def test_no_reader_waits_for_one(tmp_path, reader, kind):
    path = strange(tmp_path, kind)
    if reader == "tape" and kind == "endless":
        pytest.skip("a tape may be large")
    refuse({**READERS, "tape": read_tape}[reader], path)


def test_the_line_of_the_first_bad_byte_is_named(tmp_path):
    path = tmp_path / "a.toml"
    path.write_bytes(b"a = 1\r\nb = 2\nc = '\xff'\n")
    assert "line 3" in refuse(load_toml, path)
    path.write_bytes(b"a = 1\n\0")
    assert "line 2" in refuse(load_toml, path)


@pytest.mark.parametrize(
    ("reader", "file"),
    [
        (load_settings, "demo.toml"),
        (load_contract, "contracts/default.toml"),
        (load, "harness_configs/shell/default.toml"),
        (load_definition, "task_banks/reason/bank.toml"),
        (load_catalogue, "task_banks/reason/catalogue.toml"),
    ],
)
def test_a_mark_and_line_ends_of_an_editor_do_not_count(tmp_path, reader, file):
    """The same value, hence the same digest, with CR LF too."""
    own = ROOT / file
    inside = "bank" in file.split("/")[-1] or "catalogue" in file
    for name in ("bank.toml", "catalogue.toml"):
        (tmp_path / name).write_bytes((ROOT / "task_banks/reason" / name).read_bytes())
    copy = tmp_path / own.name
    copy.write_bytes(BOM + own.read_bytes().replace(b"\n", b"\r\n"))
    told = reader(tmp_path if inside else copy)
    plain = reader(own.parent if inside else own)
    if reader is load:
        assert (told.digest, told.text) == (plain.digest, plain.text)
    else:
        assert told == plain and getattr(told, "digest", 0) == getattr(plain, "digest", 0)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[" * 100_000,
        '{"a": ' * 100_000,
        '{"a": NaN}',
        '{"a": -Infinity}',
        '{"a": 1e999}',
        '{"a": 1, "a": 2}',
        '{"a": "\\ud83d"}',
        '{"\\udc00": 1}',
        '{"a": %s}' % ("1" * 5000),
        '{"a": 99999999999999999999}',
        '{"a": 1} x',
        "[" * 150 + "]" * 150,
    ],
)
def test_bad_json_is_one_line(tmp_path, text):
    path = tmp_path / "table.json"
    path.write_text(text)
    refuse(load_json, path)
    refuse(load_table, path)


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("any") / "a.toml"
    path.write_bytes(data)
    for read in (load_toml, load_json):
        try:
            read(path)
        except UserError as error:
            assert str(path) in str(error)


@given(st.text(max_size=100))
def test_any_text_is_parsed_or_refused(text):
    for parse in (parse_toml, parse_json):
        try:
            parse(text, "here")
        except UserError as error:
            assert str(error).startswith("here: ")


def test_a_long_text_with_dots_is_no_deep_key():
    text = "One. Two. " * 20_000
    assert parse_toml(f"a = '{text}'", "here") == {"a": text}
