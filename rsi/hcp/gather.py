"""What `rsi.hcp.pack` puts into a document: the files behind its paths, as the tables that hold them.

ValueError says what is missing or refused. Nothing of a verifier is ever gathered."""

import base64
import codecs
import hashlib
import shlex
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from rsi.hcp.archive import extract
from rsi.hcp.form import Form
from rsi.hcp.form.workspace import EMBEDDED, LOCAL, Entry
from rsi.hcp.local import Found, Limits, Project
from rsi.hcp.realise import references
from rsi.hcp.snapshot import encode, read

_KINDS: Mapping[str, tuple[str, str]] = {  # by the key that names a path: kind, folder below the embedded root
    "skills.paths": ("skill", ".pi/skills"),
    "prompt_templates.paths": ("prompt", ".pi/prompts"),
    "resources.system_prompt_path": ("system_prompt", ".pi"),
    "resources.append_system_prompt_paths": ("append_system_prompt", ".pi"),
    "resources.agents_files": ("agents", ".pi/agents"),
    "mcp.config_path": ("mcp", ".pi/mcp"),
}
Table = dict[str, Any]


def resources(form: Form, project: Project) -> Iterator[Table]:
    known = form.resources.embedded
    for path, key in references(form):
        if any(entry.stands_for(path) for entry in known):
            continue
        kind, root = _KINDS[key]
        found = [file for file in project.read(path, Limits()) if _belongs(kind, file)]
        if not found:
            raise ValueError(f"'{key}': {path!r} does not exist, or holds no such file; correct the path")
        for file in found:
            where = PurePosixPath(path) / file.path
            short = where.relative_to(PurePosixPath(path).parent)
            if short.name == "SKILL.md" and len(short.parts) == 1:
                short = PurePosixPath(*where.parts[-2:])
            yield {
                "kind": kind,
                "path": str(PurePosixPath(root) / short),
                "original_path": str(where),
                **_content(_unmarked(file.data)),
                "auto_discover": True,
            }
    yield from _scripts(form, project)


def _belongs(kind: str, file: Found) -> bool:
    """Of a folder of skills each SKILL.md is one, of a folder of prompts each Markdown file."""
    name = PurePosixPath(file.path).name
    return file.path == "." or (name == "SKILL.md" if kind == "skill" else name.endswith(".md"))


def _scripts(form: Form, project: Project) -> Iterator[Table]:
    """Scripts of the project that hooks and MCP servers name by a relative path that holds a slash."""
    done = {entry.original_path for entry in form.resources.embedded if entry.kind in ("hook", "mcp")}
    for kind, folder, words in _commands(form):
        for index, word in enumerate(words):
            where = str(PurePosixPath(word))
            if "/" not in word or word.startswith("/") or where in done or not (project.cwd / word).is_file():
                continue
            done.add(where)
            (file,) = project.read(word, Limits())
            yield {
                "kind": kind,
                "path": f"{folder}/{PurePosixPath(word).name}",
                "original_path": where,
                **_content(file.data),
                "auto_discover": True,
                "command_path_index": index,
            }


def _commands(form: Form) -> Iterator[tuple[str, str, list[str]]]:
    """Kind, folder below the embedded root, and words of each command that a document has."""
    for hook in form.hooks.all():
        try:
            yield "hook", f".pi/hooks/{hook.event}", shlex.split(hook.command or "")
        except ValueError:
            continue
    for name, server in form.mcp.servers.items():
        yield "mcp", f".pi/mcp/{name}", [server.command, *server.args]


def workspace(form: Form, project: Project) -> Iterator[Table]:
    packed = {file.entry for file in form.rsi.files}
    for entry in form.workspace.entries:
        if entry.name in packed or entry.source == EMBEDDED:
            continue
        if not entry.source.startswith(LOCAL):
            if entry.required and entry.visibility != "verifier":
                raise ValueError(
                    f"'workspace.entries': {entry.name!r} is required, but {entry.source!r} has no backend"
                )
            continue
        found = entry_files(entry, project)
        if not found and entry.required and entry.visibility != "verifier":
            raise ValueError(f"'workspace.entries': {entry.name!r} is required, but {entry.source!r} does not exist")
        for file in found if entry.visibility != "verifier" else ():
            yield {"entry": entry.name, "path": file.path, "mode": file.mode, **_content(file.data)}


def entry_files(entry: Entry, project: Project) -> list[Found]:
    """What an entry's local source holds now. ValueError for a wrong checksum or what its limits do not allow."""
    limits = Limits(entry.max_files, entry.max_file_bytes, entry.max_total_bytes)
    path = entry.source.removeprefix(LOCAL)
    found = project.read(path, limits)
    single = len(found) == 1 and found[0].path == "."
    if entry.sha256 and found and (not single or hashlib.sha256(found[0].data).hexdigest() != entry.sha256):
        raise ValueError(f"'workspace.entries': the sha256 of {entry.name!r} does not match {entry.source!r}")
    if entry.mode != "extract" or not found:
        return found
    if not single:
        raise ValueError(f"'workspace.entries': {entry.name!r}: {entry.source!r} is no archive")
    return extract(found[0].data, path, limits)


def snapshot(form: Form, project: Project) -> Table | None:
    path = form.session.file
    if path is None or form.session.snapshot is not None:
        return None
    found = project.read(path, Limits())
    if len(found) != 1 or found[0].path != ".":
        raise ValueError(f"'session': {path!r} does not exist, or is no file")
    return dict(encode(read(found[0].data)))


def _unmarked(data: bytes) -> bytes:
    """Text that people wrote, without what their editors add to it: a byte order mark, CR LF."""
    return data.removeprefix(codecs.BOM_UTF8).replace(b"\r\n", b"\n")


def _content(data: bytes) -> Table:
    sha = hashlib.sha256(data).hexdigest()
    try:
        text = data.decode()
        if not any(ord(char) < 32 and char not in "\n\t" for char in text) and "\x7f" not in text:
            return {"encoding": "utf-8", "content": text, "sha256": sha}
    except UnicodeDecodeError:
        pass
    return {"encoding": "base64", "content": base64.b64encode(data).decode(), "sha256": sha}
