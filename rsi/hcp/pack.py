"""Make a document portable: the files that it names by path are put into it, so that its digest covers all it does.

In RFC-0002's order: skills and other resources, the workspace, the session. Nothing of a verifier is ever packed."""

import copy
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tomlkit
import tomlkit.exceptions

from rsi.errors import UserError
from rsi.files import parse_toml
from rsi.hcp import gather
from rsi.hcp.document import Document, parse
from rsi.hcp.local import Project


def project_of(document: Document, folder: Path, root: Path) -> Project:
    """The project that a document's paths lie in: `root` where the document lies in it, else its own folder."""
    folder = folder.resolve()
    project = Project(root if folder.is_relative_to(root.resolve()) else folder, folder)
    if "\0" in document.form.run.cwd:
        raise UserError(f"{document.where}: 'run.cwd' holds a zero byte")
    cwd = (folder / document.form.run.cwd).resolve()
    if not cwd.is_relative_to(project.root.resolve()) or not cwd.is_dir():
        raise UserError(f"{document.where}: 'run.cwd': {document.form.run.cwd!r} is no folder inside the project")
    return Project(project.root, cwd)


def pack(document: Document, folder: Path, root: Path) -> Document:
    """The portable document; `document` itself where there is nothing to embed. `folder` is where it lies. The same
    files give the same text, and packing again changes nothing. UserError names what is missing or refused."""
    project = project_of(document, folder, root)
    try:
        embedded, files = list(gather.resources(document.form, project)), list(gather.workspace(document.form, project))
        snapshot = gather.snapshot(document.form, project)
    except (ValueError, OSError) as error:
        raise UserError(f"{document.where}: {error}") from None
    if not embedded and not files and snapshot is None:
        return document

    def fill(content: Any) -> Any:
        _append(content, "resources", "embedded", embedded)
        _append(content, "rsi", "files", files)
        if snapshot is not None:
            _section(content, "session")["snapshot"] = snapshot
        return content

    return parse(_text(document, fill), document.where)


def write(path: Path, text: str) -> None:
    """Write a document whole or not at all; nothing where it stands there already. Raises OSError."""
    if path.is_file() and path.read_bytes() == text.encode():
        return
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        part.write_text(text, encoding="utf8")
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _text(document: Document, fill: Callable[[Any], Any]) -> str:
    """The document's own text, filled; rewritten without its comments where its tables cannot be edited in place."""
    plain = fill(copy.deepcopy(document.content))
    try:
        text = tomlkit.dumps(fill(tomlkit.parse(document.text)))
        if parse_toml(text, document.where) == plain:
            return text
    except (UserError, tomlkit.exceptions.TOMLKitError, ValueError, TypeError, AttributeError):
        pass
    return tomlkit.dumps(plain)


def _section(text: Any, name: str) -> Any:
    if name not in text:
        text[name] = {}
    return text[name]


def _append(text: Any, section: str, key: str, entries: list[gather.Table]) -> None:
    if not entries:
        return
    table = _section(text, section)
    if key not in table:
        table[key] = entries
    else:
        for entry in entries:
            table[key].append(entry)
