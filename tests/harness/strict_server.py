"""An HTTP server that speaks the OpenAI protocol, answers in order, and refuses a history that is not sound."""

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class StrictServer(ThreadingHTTPServer):
    """`replies` are messages (a dict, or a text); `bodies` collects what was asked, `refused` why it was refused."""

    daemon_threads = True

    def __init__(self, replies: list[Any]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.replies, self.bodies, self.refused = replies, list[dict](), list[str]()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class Handler(BaseHTTPRequestHandler):
    server: StrictServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        self._reply(200, {"data": [{"id": "m"}]})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.bodies.append(body)
        if why := unsound(body):
            self.server.refused.append(why)
            self._reply(400, {"error": {"message": why}})
            return
        said = self.server.replies.pop(0)
        message = said if isinstance(said, dict) else {"content": said}
        choice = {"message": {"role": "assistant", "content": None, **message}, "finish_reason": "stop"}
        self._reply(200, {"choices": [choice], "usage": {"prompt_tokens": 9, "completion_tokens": 5}})

    def _reply(self, status: int, body: dict) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *arguments: object) -> None:
        """Nothing: the test run's output stays clean."""


def unsound(body: dict) -> str:
    """What a strict server has against the messages and tools of a request; empty where it has nothing."""
    open_calls = set[str]()
    for message in body["messages"]:
        if message["role"] == "tool":
            if message.get("tool_call_id") not in open_calls:
                return "an answer to no call"
            open_calls.remove(message["tool_call_id"])
            continue
        if open_calls:
            return f"calls without an answer: {open_calls}"
        for call in message.get("tool_calls", ()):
            if not isinstance(_strict(call["function"]["arguments"]), dict):
                return "arguments are no JSON object"
            if not re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", call["function"]["name"]):
                return "a name that no function may have"
            if not call["id"] or call["id"] in open_calls:
                return "an id twice"
            open_calls.add(call["id"])
    names = [tool["function"]["name"] for tool in body.get("tools", ())]
    if len(set(names)) < len(names) or not all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name) for name in names):
        return f"names of tools: {names}"
    return ""


def _strict(text: str) -> Any:
    def refuse(word: str) -> None:
        raise ValueError(word)

    try:
        value = json.loads(text, parse_constant=refuse)
        json.dumps(value, ensure_ascii=False).encode()
    except ValueError:
        return None
    return value


@contextmanager
def serving(*replies: Any) -> Iterator[StrictServer]:
    server = StrictServer(list(replies))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def calling(*calls: tuple[str, str], **fields: Any) -> dict[str, Any]:
    """A reply of native calls: (name, arguments)."""
    made = [
        {"id": f"c{i}", "type": "function", "function": {"name": n, "arguments": a}} for i, (n, a) in enumerate(calls)
    ]
    return {"tool_calls": made, **fields}
