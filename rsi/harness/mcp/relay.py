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
import time
from pathlib import Path
from typing import Any

LONGEST = 4_000_000  # bytes of one message
VERSION = "2025-06-18"


class Failed(Exception):
    pass


class Server:
    """The server's process, spoken to in JSON lines."""

    def __init__(self, command: list[str], log: Path) -> None:
        with log.open("wb") as errors:
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, bufsize=0
            )
        self.buffer, self.number = b"", 0

    def ask(self, method: str, params: Any, until: float) -> Any:
        """The result of a request. Failed where the server says an error, ends, or takes longer."""
        self.number += 1
        self.say({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params})
        while True:
            answer = self.hear(until)
            if "method" in answer and "id" in answer:  # the server asks us: we offer nothing but to be alive
                reply = {"result": {}} if answer["method"] == "ping" else {"error": {"code": -32601, "message": "no"}}
                self.say({"jsonrpc": "2.0", "id": answer["id"], **reply})
            elif answer.get("id") == self.number and "method" not in answer:
                if "error" in answer:
                    raise Failed("the server says: " + json.dumps(answer["error"])[:500])
                return answer.get("result")

    def say(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(message).encode() + b"\n")
        except OSError:
            raise Failed("the server has ended") from None

    def hear(self, until: float) -> dict[str, Any]:
        """The next line that is a JSON object; others are passed over."""
        assert self.process.stdout is not None
        while True:
            line, end, rest = self.buffer.partition(b"\n")
            if end:
                self.buffer = rest
                with contextlib.suppress(ValueError, RecursionError):
                    message = json.loads(line)
                    if isinstance(message, dict):
                        return message
                continue
            left = until - time.monotonic()
            if left <= 0 or not select.select([self.process.stdout], [], [], left)[0]:
                raise Failed("the server does not answer in time")
            data = os.read(self.process.stdout.fileno(), 65536)
            if not data:
                raise Failed("the server has ended")
            self.buffer += data
            if len(self.buffer) > LONGEST:
                raise Failed("the server says too much")


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
    log = folder / "log"
    try:
        server = Server(command, log)
        try:
            about = {"protocolVersion": VERSION, "capabilities": {}, "clientInfo": {"name": "rsi", "version": "1"}}
            server.ask("initialize", about, time.monotonic() + seconds)
            server.say({"jsonrpc": "2.0", "method": "notifications/initialized"})
        except Failed as failed:
            server.process.kill()
            raise Failed(f"{failed}; {' '.join(log.read_text(errors='replace').split())[-300:]}") from None
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
            connection.sendall(json.dumps(_answer(server, connection)).encode())


def _answer(server: Server, connection: socket.socket) -> dict[str, Any]:
    with connection.makefile("rb") as lines:
        try:
            asked = json.loads(lines.readline(LONGEST))
            until = time.monotonic() + float(asked["seconds"])
            return {"result": server.ask(asked["method"], asked["params"], until)}
        except Failed as failed:
            return {"error": str(failed)}
        except (ValueError, KeyError, TypeError, RecursionError):
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
