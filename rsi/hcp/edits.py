"""Typed edits of a document: deterministic, and without effect where everything they say stands there already."""

import copy
from collections.abc import MutableMapping, Sequence
from typing import Any

import tomlkit
import tomlkit.exceptions

from rsi.hcp.document import Document, parse
from rsi.types import (
    AddExemplars,
    AddSkill,
    AddStopHook,
    AddTool,
    Change,
    Edit,
    RemoveTool,
    SetAnswerFormat,
    SetBudgets,
    SetInstruction,
    SetSampling,
)

Table = MutableMapping[str, Any]


def apply(document: Document, edit: Edit) -> Document:
    """The edited document, whose `rsi.parent` is the digest of `document`; `document` itself where nothing changes."""
    return compose(document, [edit])


def compose(document: Document, edits: Sequence[Edit]) -> Document:
    """All edits in order as one step from `document`. Comments and unknown keys stay."""
    plain = copy.deepcopy(document.content)
    _edit(plain, edits)
    if plain == document.content:
        return document
    _section(plain, "rsi")["parent"] = document.digest
    text = _edited_text(document, edits)
    if text is None or parse(text, document.where).content != plain:
        text = tomlkit.dumps(
            plain
        )  # an order of tables that cannot be edited in place: comments are lost, content never
    return parse(text, document.where)


def _edited_text(document: Document, edits: Sequence[Edit]) -> str | None:
    try:
        kept = tomlkit.parse(document.text)
        _edit(kept, edits)
        _section(kept, "rsi")["parent"] = document.digest
        return tomlkit.dumps(kept)
    except (tomlkit.exceptions.TOMLKitError, ValueError, TypeError, AttributeError):
        return None


def _edit(content: Table, edits: Sequence[Edit]) -> None:
    for edit in edits:
        _change(content, edit.change)


def _change(content: Table, change: Change) -> None:
    match change:
        case SetInstruction(text=text):
            _section(content, "resources")["system_prompt"] = text
        case SetAnswerFormat(text=text):
            _section(content, "rsi", "answer")["format"] = text
        case AddExemplars():
            _add_exemplars(_section(content, "rsi", "exemplars"), change)
        case AddSkill(skill=skill):
            _put(_section(content, "rsi"), "skills", "name", skill.model_dump(mode="json"))
        case SetSampling(sampling=sampling):
            options = _section(content, "provider_options")
            options["temperature"], options["top_p"] = sampling.temperature, sampling.top_p
            _section(content, "model")["max_tokens"] = sampling.max_new_tokens
        case AddStopHook(hook=hook):
            table = hook.model_dump(mode="json", exclude={"name"}, exclude_none=True)
            _section(content, "hooks", "Stop")[hook.name] = table
        case AddTool(helper=helper):
            _put(_section(content, "rsi", "helpers"), "pool", "name", helper.model_dump(mode="json"))
        case RemoveTool(name=name):
            _drop(content.get("rsi", {}).get("helpers", {}).get("pool", []), name)
        case SetBudgets(budgets=budgets):
            _section(content, "rsi", "budgets").update(budgets.model_dump(mode="json"))


def _add_exemplars(section: Table, change: AddExemplars) -> None:
    known = {(entry["request"], entry["response"]) for entry in section.get("pool", [])}
    for exemplar in change.exemplars:
        if (exemplar.request, exemplar.response) not in known:
            _put(section, "pool", None, exemplar.model_dump(mode="json"))
    section["shots"] = max(int(section.get("shots", 0)), change.shots)


def _put(section: Table, key: str, by: str | None, entry: dict[str, Any]) -> None:
    """Append `entry` to a list of tables, or replace the one of the same `by`."""
    entries = section.get(key)
    if entries is None:
        section[key] = [entry]
        return
    for index, old in enumerate(entries):
        if by is not None and old.get(by) == entry[by]:
            entries[index] = entry
            return
    entries.append(entry)


def _drop(entries: list[Any], name: str) -> None:
    for index in reversed(range(len(entries))):
        if entries[index].get("name") == name:
            del entries[index]


def _section(content: Table, *names: str) -> Table:
    for name in names:
        if name not in content:
            content[name] = {}
        content = content[name]
    return content
