"""Runs INSIDE a sandbox, as a script of its own: keeps one MCP server over stdio, and relays one request a call.

    relay.py start FOLDER SECONDS COMMAND [ARG ...]   starts the server and a relay that outlives this call
    relay.py ask FOLDER SECONDS BASE64                sends {"method": ..., "params": ...}, prints the answer's JSON

Exits 0, or 3 with one line that says what failed. Knows the standard library only, and nothing of this package."""

import base64
import contextlib
import json
import os
import select
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

LONGEST = 4_000_000  # bytes of one message
MOST_LOG = 2000  # bytes of the server's log that are kept
VERSIONS = ("2025-06-18", "2025-03-26", "2024-11-05")


class Failed(Exception):
    pass


class Server:
    """The server's process, spoken to in JSON lines. What it logs is read and dropped, but for its last words."""

    def __init__(self, command: list[str]) -> None:
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0)
        self.stdin, self.stdout, self.stderr = (
            stream.fileno() for stream in (self.process.stdin, self.process.stdout, self.process.stderr) if stream
        )
        os.set_blocking(self.stdin, False)
        self.number, self.unsent, self.heard = 0, b"", b""
        self.skipping = False  # the rest of an overlong line
        self.lost = False  # something that may have been the answer
        self.log = b""
        self.logging = threading.Thread(target=self._read_log, daemon=True)
        self.logging.start()

    def _read_log(self) -> None:
        while data := os.read(self.stderr, 65536):
            self.log = (self.log + data)[-MOST_LOG:]

    @property
    def last_words(self) -> str:
        """What a server that is being ended has logged last."""
        self.process.kill()
        self.logging.join(1)
        return " ".join(self.log.decode(errors="replace").split())[-300:]

    def ask(self, method: str, params: Any, until: float) -> Any:
        """The result of a request. Failed where the server says an error, ends, or takes longer."""
        self.number += 1
        self.say({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}, until)
        while True:
            answer = self.hear(until)
            id, error = answer.get("id"), answer.get("error")
            if "method" in answer:
                if "id" in answer:  # the server asks us: we offer nothing but to be alive
                    no = {"error": {"code": -32601, "message": "not offered here"}}
                    self.say(
                        {"jsonrpc": "2.0", "id": id, **({"result": {}} if answer["method"] == "ping" else no)}, until
                    )
            elif id in (self.number, str(self.number)) or (id is None and error is not None):
                if error is not None:
                    raise Failed("the server says: " + json.dumps(error)[:500])
                return answer.get("result")

    def say(self, message: dict[str, Any], until: float) -> None:
        """Write a line, and read meanwhile, so that neither side waits for the other."""
        self.unsent += json.dumps(message).encode() + b"\n"
        while self.unsent:
            readable, writable = self._wait([self.stdout], [self.stdin], until)
            if readable:
                self._read()
            if writable:
                try:
                    self.unsent = self.unsent[os.write(self.stdin, self.unsent[:65536]) :]
                except BlockingIOError:
                    continue
                except OSError:
                    raise Failed("the server has ended") from None

    def hear(self, until: float) -> dict[str, Any]:
        """The next line that is a JSON object; others are passed over."""
        while True:
            if self.lost:
                self.lost = False
                raise Failed("the server says too much")
            line, end, rest = self.heard.partition(b"\n")
            if not end:
                self._wait([self.stdout], [], until)
                self._read()
                continue
            self.heard = rest
            with contextlib.suppress(ValueError, RecursionError):
                message = json.loads(line)
                if isinstance(message, dict):
                    return message

    def _wait(self, reading: list[int], writing: list[int], until: float) -> tuple[list[int], list[int]]:
        left = until - time.monotonic()
        readable, writable, _ = select.select(reading, writing, [], left) if left > 0 else ([], [], [])
        if not readable and not writable:
            raise Failed("the server does not answer in time")
        return readable, writable

    def _read(self) -> None:
        data = os.read(self.stdout, 65536)
        if not data:
            raise Failed("the server has ended")
        if self.skipping:
            _, end, data = data.partition(b"\n")
            self.skipping = not end
        self.heard += data
        if len(self.heard) > LONGEST:
            line_ends = self.heard.rfind(b"\n") + 1
            self.heard, self.skipping, self.lost = self.heard[line_ends:] if line_ends else b"", not line_ends, True


def start(folder: Path, seconds: float, command: list[str]) -> None:
    """Fork the relay; return once it serves. Failed where the server does not come up."""
    folder.mkdir(parents=True, exist_ok=True)
    read, write = os.pipe()
    if os.fork() == 0:
        os.close(read)
        os.setsid()
        with open(os.devnull, "r+b") as null:  # noqa: PTH123
            for fd in (0, 1, 2):
                os.dup2(null.fileno(), fd)
        try:
            relay(folder, seconds, command, write)
        finally:
            os._exit(0)
    os.close(write)
    ready, _, _ = select.select([read], [], [], seconds + 2)
    said = os.read(read, 4000).decode(errors="replace") if ready else "it does not start in time"
    if said != "ready":
        raise Failed(said or "the relay ended")


def relay(folder: Path, seconds: float, command: list[str], told: int) -> None:
    """Start the server, say on `told` how that went, then answer one connection at a time until the server ends."""
    try:
        server = Server(command)
        try:
            _greet(server, time.monotonic() + seconds)
        except Failed as failed:
            raise Failed(f"{failed}; {server.last_words}") from None
        listening = socket.socket(socket.AF_UNIX)
        listening.bind(str(folder / "socket"))
        listening.listen(4)
    except (Failed, OSError) as error:
        os.write(told, str(error).encode()[:2000])
        return
    os.write(told, b"ready")
    os.close(told)
    while server.process.poll() is None:
        connection, _ = listening.accept()
        with connection, contextlib.suppress(OSError):
            connection.settimeout(5)
            connection.sendall(json.dumps(_answer(server, connection)).encode())


def _greet(server: Server, until: float) -> None:
    """Agree to talk. A server answers with the version that it speaks; one that refuses ours is asked for its own."""
    about = {"protocolVersion": VERSIONS[0], "capabilities": {}, "clientInfo": {"name": "rsi", "version": "1"}}
    for version in VERSIONS:
        try:
            server.ask("initialize", {**about, "protocolVersion": version}, until)
            break
        except Failed as failed:
            if version == VERSIONS[-1] or "the server says" not in str(failed):
                raise
    server.say({"jsonrpc": "2.0", "method": "notifications/initialized"}, until)


def _answer(server: Server, connection: socket.socket) -> dict[str, Any]:
    with connection.makefile("rb") as lines:
        try:
            asked = json.loads(lines.readline(LONGEST))
            until = time.monotonic() + min(float(asked["seconds"]), 600)
            return {"result": server.ask(asked["method"], asked["params"], until)}
        except Failed as failed:
            return {"error": str(failed)}
        except (ValueError, LookupError, TypeError, ArithmeticError, RecursionError, OSError):
            return {"error": "malformed request"}


def ask(folder: Path, seconds: float, encoded: str) -> str:
    request = {**json.loads(base64.b64decode(encoded)), "seconds": seconds}
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(seconds + 1)
        try:
            connection.connect(str(folder / "socket"))
            connection.sendall(json.dumps(request).encode() + b"\n")
            data = b""
            while part := connection.recv(65536):
                data += part
        except OSError:
            raise Failed("the server does not run") from None
    return data.decode(errors="replace")


def main(arguments: list[str]) -> int:
    mode, folder, seconds, *rest = arguments
    try:
        if mode == "start":
            start(Path(folder), float(seconds), rest)
        else:
            print(ask(Path(folder), float(seconds), rest[0]))
    except Failed as failed:
        print(" ".join(str(failed).split()), file=sys.stderr)
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
