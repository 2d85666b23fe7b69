"""What travels between an engine's process and its clients: one JSON object a line, over a Unix socket.

client: {"id": 7, "request": {ModelRequest}}         or {"id": 7, "cancel": true}
engine: {"id": 7, "completion": {Completion}}        or {"id": 7, "error": "UserError", "message": "..."}
        and {"id": -1} every few seconds, which says that it is alive
"""

from typing import Literal, cast, get_args

from rsi import errors
from rsi.errors import InfrastructureError, RsiError, reason
from rsi.types import Completion, ModelRequest, Record

ErrorName = Literal["ContextOverflow", "RequestRefusedError", "InfrastructureError", "IntegrityError", "UserError"]
LINE_LIMIT = 64 * 2**20  # bytes; a window of 8,192 tokens needs about 300 KB


BEAT_SECONDS = 5.0
SILENT_SECONDS = 120.0  # without any line an engine is taken for dead: a busy machine delays a beat, but not so long


class Call(Record):
    id: int
    request: ModelRequest | None = None
    cancel: bool = False


class Reply(Record):
    id: int
    completion: Completion | None = None
    error: ErrorName | None = None
    message: str = ""

    def raised(self) -> RsiError:
        kind: type[RsiError] = getattr(errors, self.error or "InfrastructureError")
        return kind(self.message)


BEAT = Reply(id=-1)


def failure(id: int, error: Exception) -> Reply:
    """An error as a reply; a kind that no client would expect of a model is an InfrastructureError."""
    name = type(error).__name__
    if name in get_args(ErrorName):
        return Reply(id=id, error=cast(ErrorName, name), message=str(error))
    return Reply(id=id, error="InfrastructureError", message=f"the engine failed: {name}: {reason(error)}")


def gone(address: str, why: object) -> InfrastructureError:
    return InfrastructureError(f"the model engine at {address} is gone ({why}); it is started again by the next run")


def line(record: Record) -> bytes:
    return record.model_dump_json(exclude_defaults=True).encode() + b"\n"
