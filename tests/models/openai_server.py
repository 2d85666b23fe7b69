"""A local HTTP server that speaks the OpenAI protocol as vLLM does, over the scripted model. For tests."""

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from rsi.models.scripted import ScriptedModel
from rsi.types import ModelRequest, Sampling


class OpenAIServer(ThreadingHTTPServer):
    """`statuses` are given, one a request, before anything is answered; `bodies` collects what was asked."""

    daemon_threads = True
    window = 10_000

    def __init__(self, model: ScriptedModel, owner: str = "vllm", key: str | None = None) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.model, self.owner, self.key = model, owner, key
        self.statuses: list[int] = []
        self.bodies: list[dict] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class Handler(BaseHTTPRequestHandler):
    server: OpenAIServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else the body waits 40 ms for the head to be acknowledged

    def do_GET(self) -> None:
        if self._admitted():
            served = [{"id": "base", "owned_by": self.server.owner}, {"id": "lora", "owned_by": self.server.owner}]
            self._reply(200, {"object": "list", "data": served})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.bodies.append(body)
        if not self._admitted():
            return
        if body["model"] not in ("base", "lora"):
            self._reply(404, {"error": {"message": f"The model `{body['model']}` does not exist."}})
        elif sum(len(m["content"] or "") for m in body["messages"]) > self.server.window:
            self._reply(400, {"error": {"message": "This model's maximum context length is 10000 tokens."}})
        else:
            self._reply(200, self._completion(body))

    def _completion(self, body: dict) -> dict:
        request = ModelRequest(
            messages=[_message(m) for m in body["messages"]],
            sampling=Sampling(temperature=body["temperature"], top_p=body["top_p"], max_new_tokens=body["max_tokens"]),
            seed=body["seed"],
            stop=body.get("stop", ()),
            choices=body.get("structured_outputs", {}).get("choice", ()),
        )
        answer = asyncio.run(self.server.model.generate(request))
        message = {"role": "assistant", "content": answer.text}
        if body.get("tools") and answer.text.startswith("{"):
            function = json.loads(answer.text)
            message = {"role": "assistant", "content": None, "tool_calls": [{"id": "c", "function": function}]}
        choice = {
            "index": 0,
            "message": message,
            "finish_reason": answer.finish,
            "logprobs": {"content": [{"token": "?", "logprob": value} for value in answer.logprobs]},
        }
        reply = {"object": "chat.completion", "choices": [choice], "usage": {"prompt_tokens": len(answer.prompt_ids)}}
        if body.get("return_token_ids"):
            choice["token_ids"] = list(answer.token_ids)
            reply["prompt_token_ids"] = list(answer.prompt_ids)
        return reply

    def _admitted(self) -> bool:
        if self.server.key is not None and self.headers["Authorization"] != f"Bearer {self.server.key}":
            self._reply(401, {"error": {"message": "Unauthorized"}})
            return False
        if self.server.statuses:
            self._reply(self.server.statuses.pop(0), {"error": {"message": "not now"}})
            return False
        return True

    def _reply(self, status: int, body: dict) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *arguments: object) -> None:
        """Nothing: the test run's output stays clean."""


def _message(said: dict) -> dict:
    """As the scripted model takes it: a native call is its JSON text, written back as it was sampled."""
    calls = [call["function"] for call in said.get("tool_calls", ())]
    return {"role": said["role"], "content": json.dumps(calls[0]) if calls else said["content"]}


@contextmanager
def serving(model: ScriptedModel, **settings: str | None) -> Iterator[OpenAIServer]:
    server = OpenAIServer(model, **settings)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
