"""The host's half of the interpreter: starts it in the sandbox, hands it code, makes the calls it asks for."""

import base64
import json
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from rsi.harness.repl.inside import CLIENT, SERVER
from rsi.harness.repl.masking import Masked
from rsi.harness.repl.toolset import Calls
from rsi.ports import Sandbox
from rsi.text import parse_json

MOST_OUTPUT = 20_000  # characters that a block may print
MOST_CALL = 60_000  # characters of a call's arguments as JSON
MOST_CALLS = 500  # of one block
_CHUNK = 90_000  # bytes of one command
# Asked before a block's call of a tool, with its arguments and the seconds left: the arguments to use, or a denial.
Guard = Callable[[str, Mapping[str, Any], float], Awaitable[Mapping[str, Any] | str]]
_SPARE = 2.0  # seconds between the client's time and its command's


@dataclass(frozen=True)
class Block:
    """What came of a block. `output` is masked and bounded; `calls` is how many tools it called."""

    output: str
    failed: bool
    calls: int


class Interpreter:
    """One namespace, kept from block to block. Where the interpreter dies or hangs it is started again by the next
    block, and the output says what was lost. `helpers` (code by name) stand in every new namespace. Raises
    InfrastructureError where the sandbox or a tool is gone."""

    def __init__(
        self,
        sandbox: Sandbox,
        calls: Calls,
        masked: Masked,
        helpers: Mapping[str, str] | None = None,
        guard: Guard | None = None,
    ) -> None:
        self._sandbox, self._calls, self._masked, self._guard = sandbox, calls, masked, guard
        self._helpers = dict(helpers or {})
        self._folder = ""
        self._names: tuple[str, ...] = ()

    async def run(self, code: str, seconds: float) -> Block:
        """Run a block for at most `seconds` (tools included)."""
        ends, made = time.monotonic() + seconds, 0
        self._calls.begin()
        helpers = {} if self._folder else self._helpers
        if not self._folder and (why := await self._start(seconds)):
            return Block(f"[the interpreter does not start: {why}]", True, 0)
        told: dict[str, Any] = {
            "code": code,
            "tools": {tool.name: tool.text for tool in self._calls.tools.values()},
            "helpers": helpers,
            "hidden": ["ToolError", *self._calls.tools, *self._helpers],
        }
        while (left := ends - time.monotonic()) > 0:
            reply = await self._exchange(told, left)
            kind = reply.get("kind")
            if kind == "done":
                return self._done(reply, made)
            if kind != "call":
                return self._lost("did not end in time" if kind == "hung" else "died", made)
            made += 1
            if made > MOST_CALLS:
                told = {"error": f"a block may make {MOST_CALLS} calls"}
            else:
                arguments = reply.get("arguments")
                given = arguments if isinstance(arguments, dict) else {}
                told = await self._call(str(reply.get("tool")), given, ends)
        await self._kill()
        return self._lost("did not end in time", made)

    async def _call(self, name: str, arguments: Mapping[str, Any], ends: float) -> dict[str, Any]:
        """What the block is told of its call. The code waits for it, so a guard may use the sandbox meanwhile."""
        if self._guard is not None:
            allowed = await self._guard(name, arguments, ends - time.monotonic())
            if isinstance(allowed, str):
                return {"error": allowed}
            arguments = allowed
        return await self._calls.call(name, arguments, ends - time.monotonic())

    async def _start(self, seconds: float) -> str:
        """Why it does not start; empty where it does."""
        folder = f"/tmp/repl-{secrets.token_hex(6)}"
        put = " && ".join(
            f"printf %s {base64.b64encode(text.encode()).decode()} | base64 -d > {folder}/{name}"
            for name, text in (("server.py", SERVER), ("client.py", CLIENT))
        )
        result = await self._sandbox.exec(
            f"mkdir -m 700 {folder} && {put} || exit 1; "
            f"(setsid python3 -I {folder}/server.py {folder} {MOST_OUTPUT} {MOST_CALL} </dev/null >/dev/null 2>&1 &); "
            f"for i in $(seq 100); do [ -s {folder}/pid ] && exit 0; sleep 0.02; done; exit 1",
            min(seconds, 10.0),
            1000,
        )
        if result.exit_code:
            return " ".join(result.stderr.split())[:200] or "python3 said nothing"
        self._folder = folder
        return ""

    async def _exchange(self, message: dict[str, Any], seconds: float) -> dict[str, Any]:
        folder, data = self._folder, base64.b64encode(json.dumps(message).encode()).decode()
        chunks = [data[at : at + _CHUNK] for at in range(0, len(data), _CHUNK)]
        for number, chunk in enumerate(chunks[:-1]):
            await self._sandbox.exec(f"printf %s {chunk} {'>>' if number else '>'} {folder}/in", 10.0, 1000)
        before = f"cat {folder}/in; rm {folder}/in; " if len(chunks) > 1 else ""
        seconds = max(seconds, 0.05)
        result = await self._sandbox.exec(
            f"({before}printf %s {chunks[-1]}) | base64 -d | python3 -I -S {folder}/client.py {folder} {seconds:.3f}",
            seconds + _SPARE,
            6 * (MOST_OUTPUT + MOST_CALL) + 10_000,
        )
        if result.timed_out:  # most sandboxes have ended it with the command; no other may keep it
            await self._kill()
            return {"kind": "hung"}
        try:
            reply = parse_json(result.stdout)
        except ValueError:
            return {"kind": "died"}
        return reply if isinstance(reply, dict) else {"kind": "died"}

    async def _kill(self) -> None:
        await self._sandbox.exec(f"kill -9 $(cat {self._folder}/pid)", 5.0, 100)

    def _done(self, reply: dict[str, Any], made: int) -> Block:
        output, names, cut = reply.get("output"), reply.get("names"), reply.get("cut")
        self._names = tuple(str(name)[:60] for name in names[:50]) if isinstance(names, list) else ()
        text = self._masked.mask(output[:MOST_OUTPUT] if isinstance(output, str) else "")
        note = f"\n[{cut} characters cut]" if isinstance(cut, int) and 0 < cut < 10**15 else ""
        return Block(text + note, bool(reply.get("failed")), made)

    def _lost(self, how: str, made: int) -> Block:
        names, self._folder, self._names = ", ".join(self._names) or "none", "", ()
        text = f"[the interpreter {how} and is started again; its variables are lost: {names}]"
        return Block(self._masked.mask(text), True, made)
