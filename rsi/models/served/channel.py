"""One request over HTTP, asked again where the fault may pass. The only file that talks to the HTTP library.

Bounded in bytes and in time. No text of the library leaves: a fault is told in own words, by its type.
"""

import asyncio
import json
import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import httpx

from rsi.errors import InfrastructureError
from rsi.models.served.address import Address, find_proxy, open_client, read_key
from rsi.models.served.pacing import MOST_WAITS, Gate, choose_pause, read_retry_after
from rsi.models.served.refusal import is_overflow
from rsi.text import decode, parse_json

TIMEOUT = httpx.Timeout(300.0, connect=10.0)
LIMIT = 600.0  # seconds for one answer, however slowly it drips
MOST_BYTES = 32 * 2**20  # of one answer; a long one with log-probabilities has two million
PASSING = {408, 409, 425, 429}  # and all of 500 and more
BUSY = {429, 503}  # all requests hold off
QUICK = 4  # tries where nobody answers or the answer is no answer
AFTER_OUTAGE = 2  # tries of a request while the server is known to be down


@dataclass(frozen=True)
class Reply:
    """`data` is None where the body is no JSON. `text` is for messages: bounded."""

    status: int
    data: Any
    text: str
    place: str = ""  # of a redirect, without its secrets

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300

    @property
    def passes(self) -> bool:
        return self.status in PASSING or (self.status >= 500 and not is_overflow(self.data, self.text))


@dataclass(frozen=True)
class Fault:
    """Why a try failed, in own words."""

    reason: str
    quick: bool = False  # tried a few times only
    told: float | None = None  # seconds to wait, as the server said
    busy: bool = False
    broken: bool = False


class BrokenError(InfrastructureError):
    """Each of `tries` of one request was answered with status 500: the server is ill, or breaks on this request."""

    def __init__(self, message: str, tries: int) -> None:
        super().__init__(message)
        self.tries = tries


class Channel:
    """`pause` is the first wait in seconds, `tries` how often a request is asked at most."""

    def __init__(
        self, address: Address, key_env: str | None, pause: float, tries: int, say: Callable[[str], None]
    ) -> None:
        self._address, self._key_env, self._pause, self._tries, self._say = address, key_env, pause, tries, say
        self._client: tuple[asyncio.AbstractEventLoop, httpx.AsyncClient] | None = None
        self._gate = Gate()
        self._down = False  # a request has used up its tries, and none was answered since

    def open(self) -> None:
        """UserError where key, proxy or certificates cannot be used; nothing is asked."""
        read_key(self._key_env)
        self._http()

    async def exchange(self, method: str, path: str, body: dict[str, Any] | None, tries: int | None = None) -> Reply:
        """The server's answer, whatever its status, where asking again would not help. Else InfrastructureError."""
        content = None if body is None else json.dumps(body).encode()
        tried, waited, broken = 0, 0.0, True
        while True:
            waited += await self._gate.enter(MOST_WAITS - waited)
            outcome = await self._once(method, path, content)
            if isinstance(outcome, Reply):
                self._down = False
                return outcome
            tried, broken = tried + 1, broken and outcome.broken
            pause = choose_pause(self._pause, tried, outcome.told)
            if tried >= self._most(outcome, tries) or waited + pause > MOST_WAITS:
                self._down = True
                said = f"{self._address.shown}: no answer after {tried} tries ({outcome.reason})"
                raise BrokenError(said, tried) if broken else InfrastructureError(said)
            if pause >= 2:
                self._say(f"model: {self._address.shown}: {outcome.reason}; waits and asks again")
            if outcome.busy:
                self._gate.close(pause)
            else:
                await asyncio.sleep(pause)
                waited += pause

    async def close(self) -> None:
        held, self._client = self._client, None
        if held is not None and held[0] is asyncio.get_running_loop():
            await held[1].aclose()

    def _most(self, fault: Fault, tries: int | None) -> int:
        most = tries or self._tries
        if self._down:
            return min(most, AFTER_OUTAGE)
        return min(most, QUICK) if fault.quick else most

    async def _once(self, method: str, path: str, content: bytes | None) -> Reply | Fault:
        key = read_key(self._key_env)
        headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
        headers |= {"Content-Type": "application/json"} if content is not None else {}
        headers |= {"Authorization": f"Bearer {key}"} if key else {}
        client = self._http()
        try:
            async with (
                asyncio.timeout(LIMIT),
                client.stream(method, self._address.at(path), content=content, headers=headers) as response,
            ):
                status, answered, body = response.status_code, response.headers, await _bounded(response)
        except Exception as error:  # noqa: BLE001 the boundary of the HTTP library: every fault is this request's alone
            return Fault(self._reason(error), quick=True)
        if body is None:
            return Fault(f"its answer is longer than {MOST_BYTES // 2**20} MiB", quick=True)
        reply = Reply(status, _parsed(body), decode(body[:20_000]), _place(answered.get("location")))
        if reply.passes:
            told = read_retry_after(answered.get("retry-after"))
            return Fault(f"status {status}", told=told, busy=status in BUSY, broken=status == 500)
        if reply.ok and not isinstance(reply.data, dict):
            return Fault("its answer is no JSON object; does the URL end in /v1, as most do?", quick=True)
        return reply

    def _http(self) -> httpx.AsyncClient:
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            loop = None
        if self._client is None or self._client[0] is not loop:
            client = open_client(self._address, TIMEOUT)
            if loop is None:
                return client
            self._client = (loop, client)
        return self._client[1]

    def _reason(self, error: Exception) -> str:
        variable, _ = find_proxy(self._address.url)
        return _words(error) + (f", through the proxy of {variable}" if variable else "")


async def _bounded(response: httpx.Response) -> bytes | None:
    """The body; None where it is longer than MOST_BYTES."""
    parts, size = [], 0
    async for part in response.aiter_bytes():
        parts.append(part)
        size += len(part)
        if size > MOST_BYTES:
            return None
    return b"".join(parts)


def _parsed(body: bytes) -> Any:
    try:
        return parse_json(body)
    except ValueError:
        return None


def _place(location: str | None) -> str:
    try:
        url = httpx.URL(location or "")
        return f"{url.scheme}://{url.host}" if url.host else "another path"
    except (httpx.InvalidURL, ValueError):
        return "another place"


def _words(error: BaseException) -> str:
    """What happened, by the types of `error` and of what it came from."""
    causes: list[BaseException] = []
    while error is not None and error not in causes:
        causes.append(error)
        error = error.__cause__ or error.__context__  # type: ignore[assignment]
    for kind, words in _FAULTS:
        if any(isinstance(cause, kind) for cause in causes):
            return words
    return f"the connection failed: {type(causes[0]).__name__}"


_FAULTS: tuple[tuple[type[BaseException], str], ...] = (
    (ssl.SSLCertVerificationError, "its certificate is not trusted"),
    (ssl.SSLError, "no TLS connection comes about"),
    (socket.gaierror, "its name leads to no address"),
    (ConnectionRefusedError, "nothing listens there"),
    (httpx.ConnectTimeout, f"no connection within {TIMEOUT.connect:.0f} s"),
    (httpx.ProxyError, "the proxy refused the connection"),
    (httpx.ConnectError, "no connection comes about"),
    (httpx.TimeoutException, f"silent for {TIMEOUT.read:.0f} s"),
    (TimeoutError, f"no whole answer within {LIMIT:.0f} s"),
    (httpx.DecodingError, "its answer is not compressed as it says"),
    (httpx.RemoteProtocolError, "it broke off, or speaks no HTTP"),
    (OSError, "the connection broke"),
)
