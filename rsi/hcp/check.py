"""What a document says that this harness does not do: `rsi hcp check`."""

import difflib
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any, get_args, get_origin

from pydantic import BaseModel

from rsi.hcp.document import Document, leaves
from rsi.hcp.form import TOOLS, Form
from rsi.hcp.form.normal import normalise
from rsi.hcp.secret import redact

REALISED = ("skill", "prompt", "system_prompt", "append_system_prompt", "agents", "hook", "mcp")


def check(document: Document) -> list[str]:
    """One plain line for each thing that is kept but not realised, or contradicts another. Empty: all is realised."""
    form = document.form
    notes = list(_unread(normalise(document.content), Form, ""))
    notes += [f"'tools': '{name}' is no tool of this harness" for name in form.allowed() if name not in TOOLS]
    if form.allowed() not in ((), ("shell",)) and form.disabled():
        notes.append("'tools': a list of allowed tools and a switch that disables them; the list wins")
    if form.model.bounded < form.model.max_tokens:
        notes.append(f"'model.max_tokens': at most {form.model.bounded} tokens are sampled a turn")
    for key, value in leaves(document.content):
        if isinstance(value, str) and not key.endswith(".content") and redact(value) != value:
            notes.append(f"'{key}': looks like a secret; name an environment variable that holds it instead")
    notes += _resources(form)
    notes += _workspace(form)
    notes += _hooks(form)
    if form.mcp.servers and form.rsi.protocol == "text":
        notes.append("'mcp.servers': their tools can be called under 'rsi.protocol' \"repl\" or \"tools\" only")
    if form.rsi.helpers.pool and form.rsi.protocol != "repl":
        notes.append("'rsi.helpers.pool': they stand in the namespace of 'rsi.protocol' \"repl\" only")
    if form.session.mode in ("create", "continue_recent"):
        notes.append(f"'session.mode': '{form.session.mode}': episodes are recorded by the store, in no session file")
    if form.rsi.exemplars.shots and not form.rsi.exemplars.pool:
        notes.append("'rsi.exemplars.shots': the pool is empty, so nothing is shown")
    return notes


def _resources(form: Form) -> Iterator[str]:
    called = " ".join(hook.command or "" for hook in form.hooks.all())
    for index, entry in enumerate(form.resources.embedded):
        unused = entry.kind == "hook" and (
            not entry.original_path or PurePosixPath(entry.original_path).name not in called
        )
        if entry.kind not in REALISED or unused:
            yield f"'resources.embedded[{index}]': kind '{entry.kind}' is kept, not realised"


def _hooks(form: Form) -> Iterator[str]:
    for name, hook in form.hooks.Stop.items():
        here = f"hooks.Stop.{name}"
        if hook.matcher.strip() not in ("", "*", ".*"):
            yield f"'{here}.matcher': not realised: an episode ends with no tool, so the hook is asked at every end"
        if hook.condition.strip():
            yield f"'{here}.condition': not realised: an episode ends with no tool, so the hook is asked at every end"
        if hook.run_async:
            yield f"'{here}.run_async': not realised: a hook that may hold an end back is waited for"
    after = {"PostToolUse": form.hooks.PostToolUse, "PostToolUseFailure": form.hooks.PostToolUseFailure}
    for event, hooks in after.items():
        if form.rsi.protocol == "repl" and hooks:
            yield f"'hooks.{event}': asked after a whole block of code, not after each call in it"


def _workspace(form: Form) -> Iterator[str]:
    taken: list[str] = []
    for index, entry in enumerate(form.workspace.entries):
        here, target = f"workspace.entries[{index}]", form.workspace.target(entry)
        if entry.visibility == "verifier":
            yield f"'{here}': for the verifier alone: put nowhere, for verifiers here are of the bank"
        elif entry.mode == "mount":
            yield f"'{here}': realised as a copy"
        if target in taken:
            yield f"'{here}.target': an earlier entry has the same; what both hold, this one replaces"
        taken.append(target)
        if entry.snapshot:
            yield f"'{here}.snapshot': not realised"
    collected = {output.name for output in form.workspace.collectable()}
    for index, output in enumerate(form.workspace.outputs):
        if output.name not in collected:
            yield f"'workspace.outputs[{index}]': not collected: its path must be in the workspace, its backend 'local'"
        elif output.destination:
            yield f"'workspace.outputs[{index}].destination': not realised: outputs are kept under RSI_HOME/outputs"


def _unread(content: Mapping[str, Any], part: type[BaseModel], path: str) -> Iterator[str]:
    """Lines for the keys of `content` that no field of `part` reads, nested parts included."""
    for key, value in content.items():
        here = f"{path}.{key}" if path else key
        field = part.model_fields.get(key)
        if field is None:
            what = "unknown key of our own section" if here.startswith("rsi.") else "not realised"
            near = difflib.get_close_matches(key, part.model_fields, 1)
            yield f"'{here}': {what}" + (f"; did you mean '{near[0]}'?" if near else "")
            continue
        inner = _part_of(field.annotation)
        if inner is None:
            continue
        if isinstance(value, list):
            for index, item in enumerate(value):
                yield from _unread(item, inner, f"{here}[{index}]")
        elif get_origin(field.annotation) is not dict:
            yield from _unread(value, inner, here)
        else:  # a table of named parts
            for name, item in value.items():
                yield from _unread(item, inner, f"{here}.{name}")


def _part_of(annotation: Any) -> type[BaseModel] | None:
    """The model inside an annotation: itself, or the item of a list or table of models."""
    for candidate in (annotation, *get_args(annotation)):
        if isinstance(candidate, type) and issubclass(candidate, BaseModel):
            return candidate
    return None
