"""[workspace]: what stands where before an episode, who may see it, and what is collected after it.

A verifier-only entry is never realised here: an agent's sandbox is no place for it."""

from pathlib import PurePosixPath
from typing import Annotated, Literal

from pydantic import Field, model_validator

from rsi.hcp.form.part import Part
from rsi.types import DeclaredOutput

Visibility = Literal["agent", "runtime", "verifier"]
Bytes = Annotated[int, Field(ge=1)]
EMBEDDED = "hcp.resources.embedded"
LOCAL = "local:"
LOCAL_BACKEND = "local"
_KINDS = ("local:", "inline:", "artifact:", "s3:", "gs:", "az:", "r2:")


def inside(path: str, root: str) -> str:
    """A sandbox path relative to the workspace's root. ValueError where it leaves."""
    here = PurePosixPath(path)
    if here.is_absolute():
        if not here.is_relative_to(root):
            raise ValueError(f"{path!r} lies outside the workspace's root {root!r}")
        here = here.relative_to(root)
    if ".." in here.parts or "\0" in path or "\\" in path:
        raise ValueError(f"{path!r} must stay inside the workspace, without '..'")
    return str(here)


class Limited(Part):
    name: Annotated[str, Field(min_length=1, max_length=200)]
    description: str = ""
    max_files: Bytes = 200
    max_file_bytes: Bytes = 1_000_000
    max_total_bytes: Bytes = 4_000_000


class Entry(Limited):
    source: str
    target: str
    mode: Literal["copy", "extract", "mount", "materialize"]
    required: bool = True
    visibility: Visibility = "agent"
    snapshot: bool = False
    sha256: str | None = None

    @model_validator(mode="after")
    def _fits(self) -> "Entry":
        if self.source != EMBEDDED and not self.source.startswith(_KINDS):
            raise ValueError(f"source {self.source!r}: write '{EMBEDDED}' or 'local:PATH'")
        if (self.source == EMBEDDED) != (self.mode == "materialize"):
            raise ValueError(f"mode '{self.mode}' does not go with source {self.source!r}")
        if self.visibility == "verifier" and self.source == EMBEDDED:
            raise ValueError("embedded resources are the agent's; they cannot be for the verifier alone")
        return self


class Output(Limited):
    path: str
    required: bool = False
    backend: str = "local"
    destination: str | None = None
    visibility: Literal["runtime", "verifier", "public"] = "runtime"

    def declared(self, root: str) -> DeclaredOutput:
        """ValueError where its path lies outside the workspace."""
        kept = self.model_dump(include=set(DeclaredOutput.model_fields))
        return DeclaredOutput(**{**kept, "path": inside(self.path, root)})


class WorkspacePart(Part):
    root: str = "."
    entries: tuple[Entry, ...] = ()
    outputs: tuple[Output, ...] = ()

    @model_validator(mode="after")
    def _agrees(self) -> "WorkspacePart":
        for listed in (self.entries, self.outputs):
            names = [item.name for item in listed]
            if twice := next((name for name in names if names.count(name) > 1), None):
                raise ValueError(f"the name {twice!r} stands twice")
        hidden = [self.target(entry) for entry in self.entries if entry.visibility == "verifier"]
        for entry in self.entries:
            here = self.target(entry)
            if entry.visibility != "verifier" and any(_overlap(here, other) for other in hidden):
                raise ValueError(f"{entry.name!r} would share its target with an entry for the verifier alone")
        return self

    def collectable(self) -> tuple[DeclaredOutput, ...]:
        """The outputs that a run collects: those inside the workspace, on this machine."""
        return tuple(output.declared(self.root) for output in self.outputs if _reached(output, self.root))

    def target(self, entry: Entry) -> str:
        """Relative to the workspace."""
        return inside(entry.target, self.root)


def _reached(output: Output, root: str) -> bool:
    try:
        inside(output.path, root)
    except ValueError:
        return False
    return output.backend == LOCAL_BACKEND


def _overlap(a: str, b: str) -> bool:
    """Whether one of two targets is, or holds, the other. The root itself (".") is shared ground."""
    if "." in (a, b):
        return a == b
    return PurePosixPath(a).is_relative_to(b) or PurePosixPath(b).is_relative_to(a)
