"""Files of the project that a document names. The only place in this room that reads them.

A document may come from elsewhere, so it reaches nothing but the project it lies in, and there none of what a task's
reference or verifier could be learnt from."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rsi.config import home

CLOSED = ("task_banks", "contracts", "rsi", ".git")  # of the project: references, verifiers, thresholds
SKIPPED = frozenset({"node_modules", ".git", "__pycache__", ".venv", "venv"})


@dataclass(frozen=True)
class Limits:
    files: int = 200
    file_bytes: int = 1_000_000
    total_bytes: int = 4_000_000


@dataclass(frozen=True)
class Found:
    """A file: its place below the path that was asked for ("." for the path itself), its content, its permissions."""

    path: str
    data: bytes
    mode: int


@dataclass(frozen=True)
class Project:
    """`root` bounds what may be read; `cwd` is where relative paths begin."""

    root: Path
    cwd: Path

    def resolve(self, path: str) -> Path:
        """The real place of a path. ValueError where it leaves the project or enters what is closed to documents."""
        if "\0" in path:
            raise ValueError(f"{path!r} holds a zero byte")
        real, root = (self.cwd / path).resolve(), self.root.resolve()
        if not real.is_relative_to(root):
            raise ValueError(f"{path!r} lies outside the project")
        inner = real.relative_to(root).parts
        if inner and inner[0] in CLOSED:
            raise ValueError(f"{path!r} lies in '{inner[0]}', which no document may read")
        kept = home().resolve()
        if kept.is_relative_to(root) and real.is_relative_to(kept):
            raise ValueError(f"{path!r} lies in the program's own home, which no document may read")
        above = [real, *real.parents][: len(inner) + 1]
        if any((folder / "bank.toml").is_file() for folder in above):
            raise ValueError(f"{path!r} lies in a task bank, which no document may read")
        if not inner and real.is_dir():
            raise ValueError(f"{path!r} is the whole project; name a folder of it")
        return real

    def read(self, path: str, limits: Limits) -> list[Found]:
        """A file, or all files of a folder in sorted order. Empty where there is nothing. ValueError where a path is
        closed, a link leaves the project, or a limit is passed."""
        real = self.resolve(path)
        if not real.exists():
            return []
        found, total = list[Found](), 0
        for file in [real] if real.is_file() else _files(real):
            self.resolve(str(file))
            size = file.stat().st_size
            total += size
            if size > limits.file_bytes or total > limits.total_bytes or len(found) >= limits.files:
                raise ValueError(
                    f"{path!r} holds more than {limits.files} files, {limits.file_bytes} bytes in one or "
                    f"{limits.total_bytes} in all"
                )
            here = str(file.relative_to(real)) if real.is_dir() else "."
            found.append(Found(here, file.read_bytes(), file.stat().st_mode & 0o777))
        return found


def _files(folder: Path) -> Iterator[Path]:
    for here, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in SKIPPED and not name.startswith("."))
        for name in sorted(names):
            if not name.startswith(".") and (file := Path(here, name)).is_file():
                yield file
