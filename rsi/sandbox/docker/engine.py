"""Talking to the Docker engine: one client a thread, and a command run in a container with its output bounded.

It must not know what a sandbox is for.
"""

import select
import struct
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rsi.errors import InfrastructureError

SECONDS = 60  # for one answer of the engine
_PAUSE = 50  # ms without output until the command is asked whether it has ended: what it left running holds the stream
_CHUNK = 65536
_clients = threading.local()


def client() -> Any:
    """This thread's client. InfrastructureError where no engine answers."""
    if not hasattr(_clients, "one"):
        import docker

        try:
            _clients.one = docker.APIClient(version="auto", timeout=SECONDS)
        except docker.errors.DockerException as error:
            raise InfrastructureError(f"no Docker engine answers: {' '.join(str(error).split())[:200]}") from None
    return _clients.one


def errors() -> tuple[type[Exception], ...]:
    """What a call of the engine raises."""
    import docker
    import requests

    return (docker.errors.DockerException, requests.RequestException, OSError)


@dataclass(frozen=True)
class Ran:
    """`code` is None where the command still ran at the deadline. Streams are cut at the limit; `total` counts all."""

    code: int | None
    stdout: bytes
    stderr: bytes
    total: int


def run(container: str, argv: Sequence[str], user: str, deadline: float, limit: int, stdin: bytes | None = None) -> Ran:
    """Run `argv` in /task for at most `deadline` seconds. InfrastructureError where the container or engine is gone."""
    api = client()
    try:
        made = api.exec_create(container, list(argv), user=user, workdir="/task", stdin=stdin is not None)["Id"]
        stream = api.exec_start(made, socket=True)
        try:
            if stdin is not None:
                stream._sock.sendall(stdin)
                stream._sock.shutdown(1)
            found = _Streams(limit)
            ended = _follow(stream, found, lambda: not api.exec_inspect(made)["Running"], time.monotonic() + deadline)
        finally:
            stream.close()  # an open one makes the removal of its container take 20 s
        state = api.exec_inspect(made)
    except errors() as error:
        raise InfrastructureError(f"the sandbox is gone: {' '.join(str(error).split())[:200]}") from None
    code = state["ExitCode"] if ended and not state["Running"] else None
    return Ran(code, bytes(found.parts[1]), bytes(found.parts[2]), max(found.totals.values()))


class _Streams:
    """The engine's frames, taken apart: a header of 8 bytes, then as many bytes of stdout (1) or stderr (2)."""

    def __init__(self, limit: int) -> None:
        self.parts, self.totals = {1: bytearray(), 2: bytearray()}, {1: 0, 2: 0}
        self._limit, self._header, self._left, self._which = limit, b"", 0, 1

    def feed(self, data: bytes) -> None:
        while data:
            if not self._left:
                take = 8 - len(self._header)
                self._header, data = self._header + data[:take], data[take:]
                if len(self._header) == 8:
                    self._which, self._left = struct.unpack(">BxxxL", self._header)
                    self._header = b""
                continue
            part, data = data[: self._left], data[self._left :]
            self._left -= len(part)
            self.totals[self._which] += len(part)
            room = self._limit - len(self.parts[self._which])
            self.parts[self._which] += part[: max(room, 0)]


def _follow(stream: Any, found: _Streams, ended: Any, deadline: float) -> bool:
    """Read until the stream ends or the command has (what it left running may hold the stream). False: deadline."""
    poll = select.poll()
    poll.register(stream, select.POLLIN)
    while time.monotonic() < deadline:
        if poll.poll(_PAUSE):
            data = stream._sock.recv(_CHUNK)
            if not data:
                return True
            found.feed(data)
        elif ended():
            while poll.poll(0) and (data := stream._sock.recv(_CHUNK)):
                found.feed(data)
            return True
    return False
