"""[session]: how an episode opens. Episodes live in memory and are recorded by the store, never in a session file."""

from typing import Literal

from pydantic import model_validator

from rsi.hcp.form.part import Part
from rsi.hcp.snapshot import ENCODING, decode
from rsi.types import Message


class Snapshot(Part):
    format: str = "pi-session"
    encoding: Literal["zlib+base64+json"] = ENCODING
    content: str

    @model_validator(mode="after")
    def _sound(self) -> "Snapshot":
        decode(self.content)
        return self


class SessionPart(Part):
    mode: Literal["create", "continue_recent", "open", "in_memory"] = "in_memory"
    path: str | None = None
    snapshot_path: str | None = None
    snapshot: Snapshot | None = None

    @model_validator(mode="after")
    def _open(self) -> "SessionPart":
        if self.mode == "open" and not self.path:
            raise ValueError("mode 'open' needs a 'path'")
        return self

    @property
    def file(self) -> str | None:
        """The file that the session is restored from."""
        return self.snapshot_path or (self.path if self.mode == "open" else None)

    def messages(self) -> tuple[Message, ...]:
        """What was said before. ValueError where a named file has not been embedded."""
        if self.snapshot is not None:
            return decode(self.snapshot.content)
        if self.file:
            raise ValueError(f"'session' names the file {self.file!r}, which is not embedded; see `rsi hcp pack`")
        return ()
