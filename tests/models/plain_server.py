"""A local HTTP server whose answers a test writes itself: what servers say in all their ways. For tests."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = tuple[int, Any] | tuple[int, Any, dict[str, str]]  # status, JSON value or raw bytes, headers


def said(content: Any = "red", finish: str | None = "stop", **changes: Any) -> tuple[int, dict]:
    """A plain answer; `changes` replace members of the whole answer, "message" and "choice" add to theirs."""
    message = {"role": "assistant", "content": content} | changes.pop("message", {})
    choice = {"index": 0, "message": message, "finish_reason": finish} | changes.pop("choice", {})
    return 200, {"choices": [choice], "usage": {"prompt_tokens": 9, "completion_tokens": 3}} | changes


def refused(message: str, status: int = 400, **error: Any) -> tuple[int, dict]:
    return status, {"error": {"message": message, "type": "invalid_request_error"} | error}


@dataclass
class Plain:
    """`answer` gets the body of each chat request; `bodies` and `headers` collect what came."""

    answer: Callable[[dict], Answer]
    models: Answer = (200, {"data": [{"id": "m"}]})
    url: str = ""
    bodies: list[dict] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)


@contextmanager
def answering(answer: Callable[[dict], Answer], models: Answer = (200, {"data": [{"id": "m"}]})) -> Iterator[Plain]:
    plain = Plain(answer, models)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            plain.headers.append(dict(self.headers))
            self._reply(*plain.models)

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            plain.bodies.append(body)
            plain.headers.append(dict(self.headers))
            self._reply(*plain.answer(body))

        def _reply(self, status: int, value: Any, headers: dict[str, str] | None = None) -> None:
            content = value if isinstance(value, bytes) else json.dumps(value).encode()
            self.send_response(status)
            for name, text in ({"Content-Length": str(len(content))} | (headers or {})).items():
                self.send_header(name, text)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *arguments: object) -> None:
            """Nothing: the test run's output stays clean."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    plain.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield plain
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
