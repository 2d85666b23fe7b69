"""From a document's form to the record that the episode loop reads. Reads no file: what a document names by path must
have been embedded before (`rsi.hcp.pack`), so that its digest covers all that it does."""

import shlex
from collections.abc import Iterator
from pathlib import PurePosixPath

from rsi.hcp.form import SHELL_NAMES, TOOLS, Form
from rsi.hcp.form.workspace import EMBEDDED, Entry
from rsi.hcp.mcp import servers
from rsi.types import Exemplar, HarnessConfig, Helper, Hook, McpServer, PlacedFile, Skill

RUNTIME = "/tmp/hcp"  # where runtime files stand in the sandbox: not in the workspace


def realise(form: Form, digest: str) -> HarnessConfig:
    """ValueError says what is missing or refused, and where."""
    for path, key in references(form):
        if not any(entry.stands_for(path) for entry in form.resources.embedded):
            raise ValueError(f"'{key}' names {path!r}, which is not embedded; embed it with `rsi hcp pack`")
    names = {"shell" if name in SHELL_NAMES else name for name in form.allowed() if name in TOOLS}
    embedded = [entry.skill() for entry in form.resources.of("skill")] if form.skills.enabled else []
    ours = [Skill(**skill.model_dump()) for skill in form.rsi.skills]
    templates = form.resources.of("prompt") if form.prompt_templates.enabled else []
    return HarnessConfig(
        document_digest=digest,
        system=form.resources.system(),
        answer_format=form.rsi.answer.format,
        protocol=form.rsi.protocol,
        tools=tuple(name for name in ("shell", "read", "write") if name in names),
        exemplars=tuple(Exemplar(**e.model_dump()) for e in form.rsi.exemplars.pool),
        shots=form.rsi.exemplars.shots,
        skills=(*ours, *embedded),
        hooks=tuple(_with_script(hook, form) for hook in form.hooks.all()),
        stop_hooks=tuple(part.stop(name) for name, part in form.hooks.Stop.items()),
        sampling=form.sampling(),
        budgets=form.rsi.budgets.model_dump(),
        list_files=form.rsi.list_files,
        memory=form.rsi.memory.model_dump() if form.rsi.memory else None,
        prompts=tuple(entry.prompt() for entry in templates),
        files=tuple(_files(form)),
        restored=form.session.messages(),
        mcp=tuple(_server(server, form) for server in servers(form)),
        helpers=tuple(Helper(**helper.model_dump()) for helper in form.rsi.helpers.pool),
        outputs=form.workspace.collectable(),
        env_set=form.env.set,
        env_names=tuple(sorted({*form.env.must, *form.env.optional} - set(form.model.must))),
    )


def references(form: Form) -> Iterator[tuple[str, str]]:
    """Files and folders that the document names by path and that are embedded by kind, with the key that names each."""
    for path in form.skills.paths if form.skills.enabled else ():
        yield path, "skills.paths"
    for path in form.prompt_templates.paths if form.prompt_templates.enabled else ():
        yield path, "prompt_templates.paths"
    if form.resources.system_prompt_path:
        yield form.resources.system_prompt_path, "resources.system_prompt_path"
    for path in form.resources.append_system_prompt_paths:
        yield path, "resources.append_system_prompt_paths"
    for path in form.resources.agents_files:
        yield path, "resources.agents_files"
    if form.mcp.config_path:
        yield form.mcp.config_path, "mcp.config_path"


def _with_script(hook: Hook, form: Form) -> Hook:
    """The hook with the paths of embedded scripts in its command put where the scripts will stand."""
    scripts = form.resources.of("hook")
    if hook.command is None or not scripts:
        return hook
    command = hook.command
    for index, word in enumerate(_words(command)):
        for entry in scripts:
            name = PurePosixPath(entry.original_path)
            there = index == entry.command_path_index and name.name == PurePosixPath(word).name
            if entry.original_path and (there or PurePosixPath(word) == name):
                command = command.replace(word, shlex.quote(f"{RUNTIME}/{PurePosixPath(entry.path)}"), 1)
    return hook.model_copy(update={"command": command})


def _server(server: McpServer, form: Form) -> McpServer:
    """The server with the paths of embedded scripts put where they will stand."""
    places = {
        PurePosixPath(e.original_path): f"{RUNTIME}/{e.path}" for e in form.resources.of("mcp") if e.original_path
    }
    words = [places.get(PurePosixPath(word), word) for word in (server.command, *server.args)]
    return server.model_copy(update={"command": words[0], "args": tuple(words[1:])})


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:
        return command.split()


def _files(form: Form) -> Iterator[PlacedFile]:
    """Scripts of hooks and MCP servers for the runtime, then the files of the workspace's entries."""
    for entry in form.resources.embedded:
        if entry.kind in ("hook", "mcp"):
            yield PlacedFile(
                path=entry.path, content=entry.content, encoding=entry.encoding, mode=0o755, place="runtime"
            )
    for item in form.workspace.entries:
        if item.visibility != "verifier":
            yield from _entry_files(item, form)


def _entry_files(entry: Entry, form: Form) -> Iterator[PlacedFile]:
    target, place = form.workspace.target(entry), "runtime" if entry.visibility == "runtime" else "agent"
    if entry.source == EMBEDDED:
        for file in form.resources.embedded:
            yield PlacedFile(path=_join(target, file.path), content=file.content, encoding=file.encoding, place=place)
        return
    packed = [file for file in form.rsi.files if file.entry == entry.name]
    if not packed and entry.required:
        raise ValueError(
            f"'workspace.entries': {entry.name!r} needs {entry.source!r}, which is not packed; see `rsi hcp pack`"
        )
    for packed_file in packed:
        yield PlacedFile(
            path=_join(target, "" if packed_file.path == "." else packed_file.path),
            content=packed_file.content,
            encoding=packed_file.encoding,
            mode=packed_file.mode,
            place=place,
        )


def _join(target: str, path: str) -> str:
    return str(PurePosixPath(target, path))
