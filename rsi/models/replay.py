"""Recording a model's answers on a tape, and answering from the tape alone. A tape is JSON lines, append-only.

A request has one answer: one that is on the tape already is not asked again. A torn last line (a killed recorder) is
left out.
"""

import codecs
import fcntl
import os
from pathlib import Path

from pydantic import ValidationError

from rsi.errors import InfrastructureError, IntegrityError, UserError
from rsi.files import read_file
from rsi.ports import ModelBackend
from rsi.types import Completion, ModelRequest, Record

MOST = 2_000_000_000  # bytes of a tape, which is held in memory


class Entry(Record):
    """One line. `request` is the digest of the request, so a tape holds no prompt but as token ids."""

    request: str
    completion: Completion


class RecordingModel:
    """ModelBackend that asks `inner` and writes each answer down, on disk, before it returns it. Several processes may
    append to one tape, each its own requests. Picklable where `inner` is."""

    def __init__(self, inner: ModelBackend, tape: Path) -> None:
        self._inner, self._tape = inner, tape
        self._answers = read_tape(tape) if tape.exists() else {}

    def __reduce__(self) -> tuple[type["RecordingModel"], tuple[ModelBackend, Path]]:
        return RecordingModel, (self._inner, self._tape)

    async def generate(self, request: ModelRequest) -> Completion:
        if request.digest not in self._answers:
            completion = await self._inner.generate(request)
            if request.digest not in self._answers:  # the same request may have been in flight twice
                _append(self._tape, Entry(request=request.digest, completion=completion))
                self._answers[request.digest] = completion
        return self._answers[request.digest]

    async def close(self) -> None:
        await self._inner.close()


class ReplayModel:
    """ModelBackend that answers from a tape. An unseen request is a UserError, never a guess. Picklable."""

    def __init__(self, tape: Path) -> None:
        self._tape = tape
        self._answers = read_tape(tape)

    def __reduce__(self) -> tuple[type["ReplayModel"], tuple[Path]]:
        return ReplayModel, (self._tape,)

    async def generate(self, request: ModelRequest) -> Completion:
        try:
            return self._answers[request.digest]
        except KeyError:
            text = request.messages[-1].content[:80]
            raise UserError(
                f"replay: {self._tape} holds no answer to request {request.digest} ({text!r}); record it first"
            ) from None

    async def close(self) -> None:
        """Nothing is held."""


def read_tape(tape: Path) -> dict[str, Completion]:
    """Answers by request digest. UserError names file and line; IntegrityError where a request has two answers."""
    if not tape.exists():
        raise UserError(f"replay: {tape}: no such file; record a tape first")
    lines = read_file(tape, "tape of a model's answers", MOST).removeprefix(codecs.BOM_UTF8).split(b"\n")
    answers: dict[str, Completion] = {}
    for number, text in enumerate(lines[:-1], 1):  # what follows the last newline is torn, or nothing
        if not text.strip():
            continue
        try:
            entry = Entry.model_validate_json(text)
        except ValidationError:
            raise UserError(f"replay: {tape}, line {number}: is no entry of a tape; record it again") from None
        if answers.setdefault(entry.request, entry.completion) != entry.completion:
            raise IntegrityError(f"replay: {tape}, line {number}: a second, other answer to request {entry.request}")
    return answers


def _append(tape: Path, entry: Entry) -> None:
    """Whole lines under a lock, durable on return. A torn line of a killed recorder is cut off first."""
    try:
        with tape.open("ab+") as handle:
            fcntl.flock(handle, fcntl.LOCK_EX)
            end = handle.seek(0, os.SEEK_END)
            if end:
                handle.seek(end - 1)
                if handle.read(1) != b"\n":
                    handle.seek(0)
                    handle.truncate(handle.read().rfind(b"\n") + 1)
            handle.write(entry.model_dump_json().encode() + b"\n")
            handle.flush()
            os.fsync(handle.fileno())
    except OSError as error:
        raise InfrastructureError(f"replay: {tape} cannot be written ({error.strerror})") from None
