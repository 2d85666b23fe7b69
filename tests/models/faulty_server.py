"""An OpenAI-compatible server that goes wrong in one named way (`faulty_modes`). For tests:
`with faulty("reset") as server: ...`."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from faulty_modes import ANSWER, MODES, Call, Mode, Reply, refused

from rsi.models.openai import PROBE


class FaultyServer(ThreadingHTTPServer):
    """`mode` may be changed while it runs. `calls`: the chat requests so far; `good`: how many were answered well."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, mode: Mode, answer: Callable[[dict[str, Any]], str], port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.mode, self.answer = mode, answer
        self.calls: list[Call] = []
        self.good = 0
        self.began = 0.0
        self.lock, self.ended = threading.Lock(), threading.Event()

    @property
    def asked(self) -> int:
        """Requests of attempts, tries that failed included."""
        return sum(not is_probe(call) for call in self.calls)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def handle_error(self, request: Any, address: Any) -> None:
        """Nothing: a client that hangs up is what half of the modes are about."""


def is_probe(call: Call) -> bool:
    """Whether the client only asks for what the server can do."""
    return any(PROBE.messages[-1].content in str(message.get("content")) for message in call.messages)


class Handler(BaseHTTPRequestHandler):
    server: FaultyServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else the body waits 40 ms for the head to be acknowledged

    def do_GET(self) -> None:
        self._send(self.server.mode.models if self.path.endswith("/models") else refused(404, "Not Found"))

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        server = self.server
        with server.lock:
            server.began = server.began or time.monotonic()
            number, seconds = len(server.calls) + 1, time.monotonic() - server.began
            call = Call(number, seconds, body, dict(self.headers), server.answer(body))
            server.calls.append(call)
        reply = server.mode.chat(call)
        self._send(reply)
        with server.lock:
            server.good += reply.good and not is_probe(call)

    def _send(self, reply: Reply) -> None:
        with suppress(ConnectionError):
            if reply.head:
                self.send_response(reply.status)
                headers = {"Content-Type": "application/json", **reply.headers}
                if reply.write is None and "Content-Length" not in headers:
                    headers["Content-Length"] = str(len(reply.content))
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
            if reply.write is not None:
                reply.write(self)
            else:
                self.wfile.write(reply.content)

    def log_message(self, *arguments: object) -> None:
        """Nothing: the test run's output stays clean."""


@contextmanager
def faulty(
    mode: str, answer: Callable[[dict[str, Any]], str] = lambda body: ANSWER, port: int = 0
) -> Iterator[FaultyServer]:
    server = FaultyServer(MODES[mode], answer, port)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.ended.set()
        server.shutdown()
        thread.join()
        server.server_close()
