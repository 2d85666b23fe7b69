"""[resources]: prompts and embedded files."""

import base64
import binascii
import hashlib
from pathlib import PurePosixPath
from typing import Literal

from pydantic import model_validator

from rsi.hcp.form.part import Part
from rsi.types import Skill


class Embedded(Part):
    """A file inside the document; its checksum and path are verified whatever its kind."""

    kind: str
    path: str
    encoding: Literal["utf-8", "base64"] = "utf-8"
    content: str
    sha256: str
    triggers: tuple[str, ...] = ()  # ours: words that call a skill; its name where there are none

    @model_validator(mode="after")
    def _sound(self) -> "Embedded":
        path = PurePosixPath(self.path)
        if not self.path or path.is_absolute() or ".." in path.parts or "\\" in self.path or "\0" in self.path:
            raise ValueError(f"path {self.path!r} must be relative, without '..'")
        if hashlib.sha256(self.data()).hexdigest() != self.sha256:
            raise ValueError(f"sha256 of {self.path!r} does not match its content")
        if self.kind == "skill":
            self.skill()
        return self

    def data(self) -> bytes:
        if self.encoding == "utf-8":
            return self.content.encode()
        try:
            return base64.b64decode(self.content, validate=True)
        except binascii.Error:
            raise ValueError(f"content of {self.path!r} is not base64") from None

    def skill(self) -> Skill:
        """A skill is named by its folder (`skills/NAME/SKILL.md`), or by its file."""
        path = PurePosixPath(self.path)
        name = path.parent.name if path.name == "SKILL.md" and path.parent.name else path.stem
        try:
            return Skill(name=name, triggers=self.triggers or (name,), text=self.data().decode())
        except UnicodeDecodeError:
            raise ValueError(f"skill {self.path!r} is not UTF-8 text") from None


class Resources(Part):
    system_prompt: str = ""
    append_system_prompts: tuple[str, ...] = ()
    embedded: tuple[Embedded, ...] = ()
