"""Files in and out of a workspace whose owner is hostile, through a directory descriptor the host already holds.

Nothing is looked up by an absolute path and no link is ever followed by the kernel. It must not know how the workspace
is confined or who works in it.
"""

import contextlib
import ctypes
import os
import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from rsi.errors import TamperError, UserError
from rsi.ports import Workspace

ROOT = "/task"
MAX_ENTRIES = 10_000
MAX_DEPTH = 64  # parts of a path
MAX_PATH = 4000  # bytes of one, which the kernel still takes
MAX_NAMES = 4_000_000  # bytes of all paths together
MAX_HOPS = 40  # links followed on the way to one file
MAX_STEPS = 200_000  # parts of paths looked at on the way to all of them
_INTERPRETER = re.compile(r"(?<![^/])bin/python[\d.]*\Z")
_PYTHON = re.compile(r"/usr/bin/python[\d.]*\Z")
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_libc = ctypes.CDLL(None)


@contextlib.contextmanager
def acting_as(owner: int | None) -> Iterator[None]:
    """Let this thread alone touch files as the uid and gid `owner` (None: as it is).

    Real root is no user of the workspace's own user namespace and cannot even make a file in it.
    """
    if owner is None:
        yield
        return
    before = _libc.setfsgid(owner), _libc.setfsuid(owner)
    try:
        yield
    finally:
        _libc.setfsuid(before[1])
        _libc.setfsgid(before[0])


def write_files(root: int, files: Mapping[str, bytes]) -> None:
    """Write `files` (relative path -> content) below the directory descriptor `root`, replacing; parents are made.

    Raises TamperError for a path that leaves the
    workspace, by its name or by a link that stands in its way; UserError where the workspace refuses the file (full, a
    folder in its place, a name too long). All names are checked before anything is written.
    """
    paths = {name: _parts(name) for name in files}
    modes = files.modes if isinstance(files, Workspace) else {}
    for name, parts in paths.items():
        try:
            _write(root, parts, files[name], modes.get(name, 0o644))
        except OSError as error:
            raise UserError(f"{ROOT}/{name}: cannot be written to the workspace: {error.strerror}") from None


def _parts(name: str) -> tuple[str, ...]:
    path = PurePosixPath(name)
    if not path.parts or path.is_absolute() or ".." in path.parts or "\0" in name:
        raise TamperError(f"{name!r}: file names must be relative to {ROOT} and stay in it")
    if name.encode(errors="replace").decode() != name:
        raise TamperError(f"{name!r}: file names must be UTF-8")
    if len(path.parts) > MAX_DEPTH:
        raise TamperError(f"{name[:80]!r}: deeper than {MAX_DEPTH} folders")
    return path.parts


def _write(root: int, parts: tuple[str, ...], content: bytes, mode: int) -> None:
    folder = os.dup(root)
    try:
        for part in parts[:-1]:
            inner = _enter(folder, part)
            os.close(folder)
            folder = inner
        with contextlib.suppress(FileNotFoundError):  # never write through what stands there: a link, a pipe
            os.unlink(parts[-1], dir_fd=folder)
        with os.fdopen(os.open(parts[-1], _CREATE, 0o644, dir_fd=folder), "wb") as file:
            file.write(content)
            os.fchmod(file.fileno(), mode & 0o777)
    finally:
        os.close(folder)


def _enter(folder: int, name: str) -> int:
    """A descriptor of the subfolder `name`, made where it is missing."""
    try:
        os.mkdir(name, 0o755, dir_fd=folder)
    except FileExistsError:
        if stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            raise TamperError(f"{name!r}: a link stands where a folder of the workspace is expected") from None
    return os.open(name, _DIRECTORY, dir_fd=folder)


class _Walk:
    """What a walk has found, within the bounds, as a tree: a folder is a dict, a link its target, a file its bytes."""

    def __init__(self, root: int, limit: int) -> None:
        self.root, self.limit, self.left = root, limit, limit
        self.entries = self.names = self.steps = 0
        self.tree: dict[str, Any] = {}
        self.files: dict[str, bytes] = {}
        self.modes: dict[str, int] = {}
        self.links: list[str] = []

    def all(self) -> None:
        """Folder by folder, one descriptor at a time: the host's are shared by all sandboxes."""
        todo = [("", self.tree)]
        while todo:
            prefix, tree = todo.pop()
            fd = os.open(prefix or ".", _DIRECTORY, dir_fd=self.root)
            try:
                with os.scandir(fd) as entries:
                    for entry in entries:
                        path = f"{prefix}{entry.name}"
                        self.count(path)
                        tree[entry.name] = found = self.entry(fd, entry.name, path)
                        if isinstance(found, dict):
                            todo.append((f"{path}/", found))
            finally:
                os.close(fd)

    def count(self, path: str) -> None:
        try:
            length = len(path.encode())
        except UnicodeEncodeError:
            raise TamperError(f"{path[:80]!a}: a file name that is not UTF-8") from None
        if path.count("/") >= MAX_DEPTH or length > MAX_PATH:
            raise TamperError(f"{path[:80]!r}: deeper than {MAX_DEPTH} folders, or longer than {MAX_PATH} bytes")
        self.entries, self.names = self.entries + 1, self.names + length
        if self.entries > MAX_ENTRIES or self.names > MAX_NAMES:
            raise TamperError(f"{ROOT} holds more than {MAX_ENTRIES} entries, or {MAX_NAMES} bytes of their paths")

    def entry(self, fd: int, name: str, path: str) -> "dict[str, Any] | str | bytes":
        found = os.stat(name, dir_fd=fd, follow_symlinks=False)
        if stat.S_ISLNK(found.st_mode):
            self.links.append(path)
            return os.readlink(name, dir_fd=fd)
        if stat.S_ISDIR(found.st_mode):
            self._open_up(fd, name, found.st_mode, 0o700)
            return {}
        if not stat.S_ISREG(found.st_mode):
            raise TamperError(f"{ROOT}/{path}: a device, socket or pipe, where only files and folders are expected")
        self.charge(path, found.st_size)
        self._open_up(fd, name, found.st_mode, 0o600)
        with os.fdopen(os.open(name, _READ, dir_fd=fd), "rb") as file:
            self.files[path] = file.read(found.st_size)
        self.modes[path] = stat.S_IMODE(found.st_mode)
        return self.files[path]

    def charge(self, path: str, size: int) -> None:
        self.left -= size
        if self.left < 0:
            raise TamperError(f"{ROOT}/{path}: the workspace holds more than {self.limit} bytes")

    @staticmethod
    def _open_up(fd: int, name: str, mode: int, wanted: int) -> None:
        """A file that its owner may not read is still evidence. Nothing runs any more, so `name` is what was seen."""
        if mode & wanted != wanted:
            os.chmod(name, wanted, dir_fd=fd)

    def resolve(self, link: str) -> bytes | None:
        """The file that `link` means, or None where it dangles, loops or means a folder. TamperError if it leaves."""
        place: list[Any] = [self.tree]
        todo = self.parts(link)
        hops, dangles = 0, False
        while todo:
            part = todo.pop()
            dangles = dangles or not isinstance(place[-1], dict)  # what follows may leave all the same
            if part == "..":
                if len(place) == 1:
                    raise TamperError(f"{ROOT}/{link}: a link that leaves the workspace")
                place.pop()
            elif part not in ("", "."):
                found = place[-1].get(part) if isinstance(place[-1], dict) else None
                if not isinstance(found, str):
                    place.append(found)
                    continue
                hops += 1
                if hops > MAX_HOPS:
                    return None
                if found.startswith("/"):
                    if self.is_interpreter(link, found):
                        return None
                    if found != ROOT and not found.startswith(f"{ROOT}/"):
                        raise TamperError(f"{ROOT}/{link}: a link that leaves the workspace")
                    place, found = [self.tree], found[len(ROOT) :]
                todo += self.parts(found)
        return place[-1] if isinstance(place[-1], bytes) and not dangles else None

    def is_interpreter(self, link: str, target: str) -> bool:
        """Whether it is a virtual environment's own link to the system's python, which is no file of the workspace."""
        name = _INTERPRETER.search(link)
        return name is not None and f"{link[: name.start()]}pyvenv.cfg" in self.files and bool(_PYTHON.match(target))

    def parts(self, path: str) -> list[str]:
        """Last first. All parts of all links are counted together: following them costs the host's time."""
        parts = path.split("/")[::-1]
        self.steps += len(parts)
        if self.steps > MAX_STEPS:
            raise TamperError(f"{ROOT}: following its links takes more than {MAX_STEPS} steps")
        return parts


def read_files(root: int, limit: int) -> Workspace:
    """All regular files below the directory descriptor `root`, by relative path in sorted order.

    Only for a workspace in which nothing runs any more. A link to a file of the workspace reads as that file. Raises
    TamperError for links that leave, devices, sockets, pipes, names that are not UTF-8, more than `limit` bytes, and
    more than the bounds above: no workspace costs the host more than a second.
    """
    os.fchmod(root, 0o700)  # an agent may have closed it to its owner
    walk = _Walk(root, limit)
    walk.all()
    files = dict(walk.files)
    for link in walk.links:
        content = walk.resolve(link)
        if content is not None:
            walk.charge(link, len(content))
            files[link] = content
    return Workspace(dict(sorted(files.items())), walk.modes)
