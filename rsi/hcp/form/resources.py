"""[resources]: prompts and embedded files. `rsi hcp pack` embeds the files that a document names by path."""

import base64
import binascii
import hashlib
import re
from pathlib import PurePosixPath
from typing import Literal

from pydantic import Field, model_validator

from rsi.hcp.form.part import Part
from rsi.types import Prompt, Skill

TEXTS = ("skill", "prompt", "system_prompt", "append_system_prompt", "agents")  # kinds that are realised as text


class Content(Part):
    """A file inside the document; its checksum and path are verified whatever it is for."""

    path: str
    encoding: Literal["utf-8", "base64"] = "utf-8"
    content: str
    sha256: str

    @model_validator(mode="after")
    def _sound(self) -> "Content":
        path = PurePosixPath(self.path)
        if not self.path or path.is_absolute() or ".." in path.parts or "\\" in self.path or "\0" in self.path:
            raise ValueError(f"path {self.path!r} must be relative, without '..'")
        if hashlib.sha256(self.data()).hexdigest() != self.sha256:
            raise ValueError(f"sha256 of {self.path!r} does not match its content")
        return self

    def data(self) -> bytes:
        if self.encoding == "utf-8":
            return self.content.encode()
        try:
            return base64.b64decode(self.content, validate=True)
        except (binascii.Error, ValueError):
            raise ValueError(f"content of {self.path!r} is not base64") from None

    def text(self) -> str:
        try:
            return self.data().decode().removeprefix("\ufeff")
        except UnicodeDecodeError:
            raise ValueError(f"{self.path!r} is not UTF-8 text") from None


class Embedded(Content):
    kind: str
    original_path: str = ""  # where it lay, relative to run.cwd
    auto_discover: bool = True
    command_path_index: int | None = None  # of a hook's script: which word of the command names it
    triggers: tuple[str, ...] = ()  # ours: words that call a skill; its name where there are none

    @model_validator(mode="after")
    def _readable(self) -> "Embedded":
        if not PurePosixPath(self.path).parts:
            raise ValueError(f"path {self.path!r} names no file")
        if self.kind in TEXTS:
            self.text()
        return self

    @property
    def name(self) -> str:
        """A skill is named by its folder (`skills/NAME/SKILL.md`), or by its file."""
        path = PurePosixPath(self.path)
        return path.parent.name if path.name == "SKILL.md" and path.parent.name else path.stem

    def skill(self) -> Skill:
        return Skill(name=self.name, triggers=self.triggers or (self.name,), text=self.text())

    def prompt(self) -> Prompt:
        """A template without the front matter that describes it."""
        return Prompt(name=self.name, text=re.sub(r"\A---\n.*?\n---\n", "", self.text(), flags=re.DOTALL))

    def stands_for(self, path: str) -> bool:
        """Whether this is the file at `path` of the project, or lies in that folder."""
        if not self.original_path:
            return False
        here = PurePosixPath(self.original_path)
        return here == PurePosixPath(path) or here.is_relative_to(PurePosixPath(path))


class Packed(Content):
    """[[rsi.files]]: a file of a workspace entry, as `rsi hcp pack` found it. `path` is relative to the target."""

    entry: str
    mode: int = Field(0o644, ge=0, le=0o777)


class Resources(Part):
    system_prompt: str = ""
    system_prompt_path: str | None = None
    append_system_prompts: tuple[str, ...] = ()
    append_system_prompt_paths: tuple[str, ...] = ()
    agents_files: tuple[str, ...] = ()
    context_files: bool = True
    embedded: tuple[Embedded, ...] = ()

    def of(self, kind: str) -> list[Embedded]:
        return [entry for entry in self.embedded if entry.kind == kind]

    def system(self) -> str:
        """The system prompt: written here, embedded, then what is appended, then the context files."""
        own = [self.system_prompt, *(e.text() for e in self.of("system_prompt"))]
        appended = [*self.append_system_prompts, *(e.text() for e in self.of("append_system_prompt"))]
        context = [entry.text() for entry in self.of("agents")] if self.context_files else []
        return "\n\n".join(filter(None, (*own, *appended, *context)))
