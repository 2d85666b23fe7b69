"""Unpacking an archive of a workspace entry, in memory and within bounds. Links, devices and ways out are refused."""

import io
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import PurePosixPath

from rsi.hcp.local import Found, Limits


def extract(data: bytes, name: str, limits: Limits) -> list[Found]:
    """The regular files of a tar (plain, gzip, bzip2, xz) or zip archive, sorted. ValueError says what is wrong."""
    try:
        members = _zip(data, limits) if zipfile.is_zipfile(io.BytesIO(data)) else _tar(data, limits)
        found, total = dict[str, Found](), 0
        for file in members:
            path = PurePosixPath(file.path)
            if path.is_absolute() or ".." in path.parts or not path.parts or "\\" in file.path:
                raise ValueError(f"{name!r} holds {file.path!r}, which leaves its target")
            total += len(file.data)
            if total > limits.total_bytes or len(found) >= limits.files:
                raise ValueError(f"{name!r} holds more than {limits.files} files or {limits.total_bytes} bytes")
            found[str(path)] = Found(str(path), file.data, file.mode)
    except (tarfile.TarError, zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError):
        raise ValueError(f"{name!r} is no archive that can be read (tar or zip)") from None
    return [found[path] for path in sorted(found)]


def _tar(data: bytes, limits: Limits) -> Iterator[Found]:
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        for member in archive:
            if member.isdir():
                continue
            if not member.isreg():
                raise ValueError(f"an archive holds {member.name!r}, which is no plain file")
            _bounded(member.name, member.size, limits)
            file = archive.extractfile(member)
            yield Found(member.name, file.read() if file else b"", member.mode & 0o777 or 0o644)


def _zip(data: bytes, limits: Limits) -> Iterator[Found]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for member in archive.infolist():
            if member.is_dir():
                continue
            mode = member.external_attr >> 16
            if mode & 0o170000 not in (0, 0o100000):
                raise ValueError(f"an archive holds {member.filename!r}, which is no plain file")
            _bounded(member.filename, member.file_size, limits)
            with archive.open(member) as file:
                read = file.read(limits.file_bytes + 1)
            _bounded(member.filename, len(read), limits)
            yield Found(member.filename, read, mode & 0o777 or 0o644)


def _bounded(name: str, size: int, limits: Limits) -> None:
    if size > limits.file_bytes:
        raise ValueError(f"{name!r} has {size} bytes, more than the {limits.file_bytes} allowed")
