"""Taking a hostile workspace out: bounded in what it costs the host, whatever stands there; and exact where it is not
hostile. On plain folders, which read as those of a sandbox do."""

# ruff: noqa: PTH101, PTH102, PTH103, PTH123, PTH208, PTH211 - a path object tidies names up; these stay untidy

import os
import socket
import tracemalloc
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rsi.errors import TamperError
from rsi.sandbox import workspace
from rsi.sandbox.workspace import MAX_DEPTH, MAX_ENTRIES, read_files, write_files


@contextmanager
def opened(folder: Path):
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield fd
    finally:
        os.close(fd)


def taken(folder: Path, limit: int = 1_000_000):
    with opened(folder) as fd:
        return read_files(fd, limit)


def links(n: int, target) -> None:
    for number in range(n):
        os.symlink(target(number), f"l{number}")


def folders(n: int, name: str = "d") -> None:
    """One in another, made one at a time: no path that the kernel takes is so long."""
    back = os.open(".", os.O_RDONLY)
    for _ in range(n):
        os.mkdir(name)
        os.chdir(name)
    os.fchdir(back)
    os.close(back)


def files(n: int, name: str = "{}", content: bytes = b"") -> None:
    for number in range(n):
        Path(name.format(number)).write_bytes(content)


def sparse(size: int, name: str = "s") -> None:
    with open(name, "wb") as file:
        file.truncate(size)


def hard_links(n: int, size: int) -> None:
    Path("first").write_bytes(b"x" * size)
    for number in range(n):
        os.link("first", f"h{number}")


def wide(n: int) -> None:
    """Few files, whose paths are long."""
    place = "/".join(["x" * 60] * 60)
    os.makedirs(place)
    for number in range(n):
        Path(place, str(number)).touch()


def bound(path: str) -> None:
    with socket.socket(socket.AF_UNIX) as own:
        own.bind(path)


HOSTILE = {
    "links through long targets": lambda: links(1500, lambda n: "./" * 2039 + f"l{n + 1}"),
    "links through folders and back": lambda: (os.mkdir("d"), links(1500, lambda n: "d/../" * 800 + f"l{n + 1}")),
    "links into nothing, long": lambda: links(1500, lambda n: "a/" * 2040 + "b"),
    "links with empty parts": lambda: links(1500, lambda n: f"l{n + 1}" + "/" * 4000),
    "a chain of links, long": lambda: links(3000, lambda n: f"l{n + 1}/x/y"),
    "absolute links, long": lambda: links(1500, lambda n: "/task" + "/." * 2000),
    "many links to a large file": lambda: (Path("f").write_bytes(b"x" * 9999), links(200, lambda n: "f")),
    "a link out": lambda: os.symlink("../x", "l"),
    "a link out behind nothing": lambda: os.symlink("no/../../x", "l"),
    "a link out behind a file": lambda: (files(1), os.symlink("0/../../x", "l")),
    "a link out by a chain": lambda: (os.mkdir("d"), os.symlink("..", "d/up"), os.symlink("d/up/d/up/../x", "l")),
    "an absolute link out": lambda: os.symlink("/tmp", "l"),
    "folders in folders": lambda: folders(200),
    "a folder one too deep": lambda: folders(MAX_DEPTH + 1),
    "paths too long": lambda: folders(30, "x" * 250),
    "too many files": lambda: files(MAX_ENTRIES + 1),
    "too many folders": lambda: [os.mkdir(str(n)) for n in range(MAX_ENTRIES + 1)],
    "too many dangling links": lambda: links(MAX_ENTRIES + 1, lambda n: "nowhere"),
    "paths too long in all": lambda: wide(1200),
    "a sparse file": lambda: sparse(1 << 40),
    "two sparse files": lambda: (sparse(600_000, "a"), sparse(600_000, "b")),
    "hard links": lambda: hard_links(200, 9999),
    "a pipe": lambda: os.mkfifo("p"),
    "a socket": lambda: bound("s"),
    "a pipe deep down": lambda: (os.makedirs("a/b/c"), os.mkfifo("a/b/c/p")),
    "a name that is not UTF-8": lambda: open(b"a\xff", "w").close(),
    "a folder's name that is not UTF-8": lambda: os.mkdir(b"\xc3\x28"),
    "a name with half a surrogate pair": lambda: open(b"\xed\xa0\x80", "w").close(),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_workspaces_are_refused(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    HOSTILE[name]()
    held = len(os.listdir("/proc/self/fd"))
    with pytest.raises(TamperError):
        taken(tmp_path)
    assert len(os.listdir("/proc/self/fd")) == held


def test_the_steps_through_all_links_are_counted_together(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    links(1500, lambda n: "./" * 2039 + f"l{n + 1}")
    with opened(tmp_path) as fd:
        walk = workspace._Walk(fd, 1000)
        walk.all()
        with pytest.raises(TamperError, match="steps"):
            for link in walk.links:
                walk.resolve(link)
    assert walk.steps < workspace.MAX_STEPS + 5000


def test_one_descriptor_is_open_however_deep(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folders(MAX_DEPTH - 1)
    (tmp_path / "d" / "d" / "f").write_bytes(b"x")
    most, plain = [0], os.stat

    def counted(*args, **kwargs):
        most[0] = max(most[0], len(os.listdir("/proc/self/fd")))
        return plain(*args, **kwargs)

    before = len(os.listdir("/proc/self/fd"))
    monkeypatch.setattr(os, "stat", counted)
    assert taken(tmp_path) == {"d/d/f": b"x"}
    assert most[0] <= before + 4


def test_long_paths_take_little_memory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    wide(900)
    tracemalloc.start()
    try:
        assert len(taken(tmp_path)) == 900
        assert tracemalloc.get_traced_memory()[1] < 30_000_000
    finally:
        tracemalloc.stop()


def test_what_is_odd_but_harmless_is_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("new\nline \x1b[31m").write_bytes(b"1")
    Path("setuid").write_bytes(b"2")
    os.chmod("setuid", 0o6755)
    os.link("setuid", "again")
    for name, target in {
        "loop": "loop",
        "dangling": "no/such",
        "folder": ".",
        "ok": "./d/../setuid",
        "up": "/task/ok",
        "of a file": "setuid/.",
        "behind a file": "setuid/../again",
        "behind nothing": "no/../again",
    }.items():
        os.symlink(target, name)
    os.mkdir("d")
    found = taken(tmp_path)
    assert found == {"new\nline \x1b[31m": b"1", "setuid": b"2", "again": b"2", "ok": b"2", "up": b"2"}
    assert found.modes["setuid"] == 0o6755


@pytest.mark.parametrize(
    ("link", "target", "config", "read"),
    [
        ("v/bin/python3", "/usr/bin/python3", "v/pyvenv.cfg", True),
        ("v/bin/python", "/usr/bin/python3.11", "v/pyvenv.cfg", True),
        ("bin/python", "/usr/bin/python", "pyvenv.cfg", True),
        ("v/bin/python3", "/usr/bin/python3", "other", False),
        ("v/bin/python3", "/usr/bin/python3", "pyvenv.cfg", False),
        ("v/bin/python3", "/usr/bin/bash", "v/pyvenv.cfg", False),
        ("v/bin/python3", "/usr/bin/python3/../../../etc/passwd", "v/pyvenv.cfg", False),
        ("v/bin/pythons", "/usr/bin/python3", "v/pyvenv.cfg", False),
        ("v/xbin/python3", "/usr/bin/python3", "v/pyvenv.cfg", False),
    ],
)
def test_a_virtual_environments_interpreter_is_no_file_and_no_escape(link, target, config, read, tmp_path):
    for path in (link, config):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / link).symlink_to(target)
    (tmp_path / config).write_bytes(b"home = /usr/bin")
    if read:
        assert list(taken(tmp_path)) == [config]
    else:
        with pytest.raises(TamperError, match="leaves"):
            taken(tmp_path)


def test_what_comes_out_goes_in_again(tmp_path, monkeypatch):
    """As deep as may be: a copy for the verifier is never refused for what was taken out."""
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    monkeypatch.chdir(tmp_path / "a")
    folders(MAX_DEPTH - 1)
    Path("/".join(["d"] * (MAX_DEPTH - 1)), "f").write_bytes(b"deep")
    found = taken(tmp_path / "a")
    with opened(tmp_path / "b") as fd:
        write_files(fd, found)
    assert taken(tmp_path / "b") == found and len(found) == 1


@pytest.mark.parametrize("name", ["\ud800", "a/\udcff", "a\0", "../x", "/x", "x/" * 70 + "x"])
def test_names_that_no_file_has_are_refused_before_anything_is_written(name, tmp_path):
    with opened(tmp_path) as fd, pytest.raises(TamperError):
        write_files(fd, {"good": b"", name: b""})
    assert not list(tmp_path.iterdir())


NAMES = st.sampled_from(["a", "b", "c"])
TARGETS = st.lists(st.sampled_from(["a", "b", "c", "..", "."]), min_size=1, max_size=5).map("/".join)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(NAMES, NAMES, st.one_of(st.none(), TARGETS)), max_size=7))
def test_links_mean_what_the_kernel_says(tmp_path_factory, entries):
    """A file that is read through a link has the content that the kernel finds there."""
    folder = tmp_path_factory.mktemp("tree")
    for top, name, target in entries:
        place = folder / top
        if not place.is_symlink():
            place.mkdir(exist_ok=True)
        elif not place.is_dir():
            continue
        if not (place / name).is_symlink() and not (place / name).exists():
            if target is None:
                (place / name).write_text(f"{top}/{name}")
            else:
                os.symlink(target, place / name)
    try:
        found = taken(folder)
    except TamperError:
        return
    for path, content in found.items():
        assert (folder / path).read_bytes() == content
    real = {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()}
    assert real <= found.keys()
