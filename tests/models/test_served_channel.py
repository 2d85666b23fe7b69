"""How a server is reached: waits that hold for all, bounds in bytes and time, secrets that are never shown, proxies."""

import asyncio
import contextlib
import random
import socket
import threading
import time
from email.utils import formatdate

import pytest
from model_conformance import ask
from plain_server import answering, refused, said

import rsi.models.openai
from rsi.config import ModelSettings, RunSettings
from rsi.doctor import examine
from rsi.errors import InfrastructureError, RsiError, UserError
from rsi.models.openai import TRIES, OpenAIModel
from rsi.models.served import channel, pacing
from rsi.models.served.address import is_loopback, parse_address
from rsi.models.served.pacing import MOST_WAIT, MOST_WAITS, SPREAD, choose_pause, read_retry_after
from rsi.text import show_url
from rsi.wiring.models import open_model

PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch):
    monkeypatch.setattr(rsi.models.openai, "PAUSE", 0.001)
    for name in (*PROXIES, *map(str.lower, PROXIES)):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [("20", 20), (" 0 ", 0), ("1.5", 1.5), ("3600", 3600), (formatdate(0, usegmt=True), 0), ("-5", None), ("", None),
     (None, None), ("soon", None), ("nan", None), ("inf", None), ("1e400", None), ("Wed, 99 Foo 2099", None),
     ("\xb2", None),
     ("20, 30", None), ("9" * 5000, None)],
)  # fmt: skip
def test_retry_after_is_a_number_a_date_or_nothing(value, seconds):
    assert read_retry_after(value) == seconds


def test_retry_after_as_a_date_to_come():
    assert 50 < read_retry_after(formatdate(time.time() + 60, usegmt=True)) <= 60


def test_waits_are_obeyed_bounded_spread_and_outlive_a_minute():
    random.seed(1)
    assert all(20 <= choose_pause(0.5, 1, 20) <= 20 * (1 + SPREAD) for _ in range(50))
    assert len({choose_pause(0.5, 1, 20) for _ in range(48)}) == 48
    assert choose_pause(0.5, 1, 10**9) <= MOST_WAIT * (1 + SPREAD)
    assert choose_pause(0.5, 10**6, None) <= MOST_WAIT * (1 + SPREAD)
    assert 60 < sum(choose_pause(0.5, tried, None) for tried in range(1, TRIES)) < MOST_WAITS


async def test_a_server_that_asks_for_twenty_seconds_gets_them():
    """Waits are counted, not slept: no request comes back before it may."""
    busy = [(429, {"error": "busy"}, {"Retry-After": "20"})] * 2

    with answering(lambda body: busy.pop() if busy else said()) as server:
        model = OpenAIModel(ModelSettings(id=server.url))
        lines: list[str] = []
        model.say = lines.append
        gate = model._channel._gate
        closed: list[float] = []
        gate.close = closed.append
        assert (await model.generate(ask())).text == "red"
    assert len(closed) == 2 and all(20 <= seconds <= 25 for seconds in closed)
    assert len(lines) == 1 and "status 429" in lines[0]


async def test_all_requests_of_a_client_wait_at_one_gate():
    gate = pacing.Gate()
    gate.close(0.05)
    waited = await asyncio.gather(*(gate.enter(10) for _ in range(48)))
    assert all(0.04 < seconds < 1 for seconds in waited) and await gate.enter(10) < 0.01
    gate.close(100)
    assert await gate.enter(0.02) < 1, "no longer than the request has left"


async def test_a_server_that_is_down_is_asked_less_after_the_first():
    with answering(lambda body: (503, {})) as server:
        model = OpenAIModel(ModelSettings(id=f"{server.url}#m"))
        for tries in (TRIES, 2, 2):
            before = len(server.bodies)
            with pytest.raises(InfrastructureError, match="503"):
                await model.generate(ask())
            assert len(server.bodies) - before == tries


KEYS = {
    "line end within": "sk-abc\ndef", "carriage return": "sk-abc\rX-Evil: 1", "null": "sk-\x7fabc", "umlaut": "sk-äbc",
    "emoji": "sk-\N{GRINNING FACE}abc", "tab within": "sk-abc\tdef", "empty": "", "blanks alone": " \n",
    "escape": "sk-\x1b[0m",
    "narrow blank": "sk-\u2009abc", "surrogate": "sk-\udcffabc", "zero width": "sk-\u200babc",
}  # fmt: skip


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
async def test_a_key_that_cannot_be_sent_is_one_line_that_names_the_variable(key, monkeypatch):
    monkeypatch.setenv("SERVED_KEY", key)
    with answering(lambda body: said()) as server:
        settings = ModelSettings(id=server.url, api_key_env="SERVED_KEY")
        for attempt in (OpenAIModel(settings).learn, lambda: OpenAIModel(settings).generate(ask())):
            with pytest.raises(UserError, match="SERVED_KEY") as caught:
                await attempt()
            assert "sk-" not in str(caught.value) and "\n" not in str(caught.value)
        assert not server.headers, "nothing was asked"


@pytest.mark.parametrize("key", ["sk-abc\n", "sk-abc ", "\t sk-abc\r\n"])
async def test_white_space_at_the_ends_of_a_key_is_cut(key, monkeypatch):
    monkeypatch.setenv("SERVED_KEY", key)
    with answering(lambda body: said()) as server:
        await OpenAIModel(ModelSettings(id=server.url, api_key_env="SERVED_KEY")).learn()
        assert {headers["Authorization"] for headers in server.headers} == {"Bearer sk-abc"}


@pytest.mark.parametrize("status", [400, 401, 403, 404, 418, 422, 429, 500, 503])
@pytest.mark.parametrize(
    "body", [{"error": {"message": "no sk-s3cret/x here"}}, b"no sk-s3cret/x", b'{"m": "sk-s3cret\\/x"}']
)
async def test_a_key_that_a_server_sends_back_is_not_shown(status, body, monkeypatch):
    monkeypatch.setenv("SERVED_KEY", "sk-s3cret/x")
    with answering(lambda request: (status, body), (status, body)) as server:
        for name in ("", "#m"):
            model = OpenAIModel(ModelSettings(id=server.url + name, api_key_env="SERVED_KEY"))
            with pytest.raises(RsiError) as caught:
                await model.generate(ask())
            assert "s3cret" not in str(caught.value)


async def test_words_of_a_server_are_bounded_and_clean():
    odd = refused("\x1b[31m" + "long\n" * 10_000 + "\u202e")
    with answering(lambda body: odd) as server, pytest.raises(UserError) as caught:
        await OpenAIModel(ModelSettings(id=server.url)).generate(ask())
    assert len(str(caught.value)) < 400 and str(caught.value).isprintable()


@pytest.mark.parametrize(
    "url",
    ["http://user:s3cret@127.0.0.1:1/v1", "http://127.0.0.1:1/v1?api-key=s3cret", "http://s3cret@127.0.0.1:1/v1#m",
     "http://us:s3cret@:x@127.0.0.1:1/v1", "http://user:s3cret@127.0.0.1:99999/v1", "http://user:s3cret@/v1",
     "http://user:s3cret@[::zz]/v1", "https://user:s3cret@127.0.0.1:1/v1?a=s3cret&b=s3cret#m"],
)  # fmt: skip
async def test_secrets_of_a_url_are_not_shown(url, tmp_path, monkeypatch):
    assert "s3cret" not in show_url(url)
    with pytest.raises(RsiError) as caught:
        await OpenAIModel(ModelSettings(id=url)).learn()
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    ["http://", "http:///v1", "http://h:0/v1", "http://h:99999/v1", "http://[::1/v1", "http://h:x/v1", "http:// /v1"],
)
async def test_what_is_no_url_is_one_line(url):
    with pytest.raises(UserError, match="is not a URL"):
        await OpenAIModel(ModelSettings(id=url)).generate(ask())


def test_a_query_stays_behind_the_path():
    assert str(parse_address("http://h/v1/?k=1#m").at("/models")) == "http://h/v1/models?k=1"


async def test_a_redirect_is_not_followed_with_the_key(monkeypatch):
    monkeypatch.setenv("SERVED_KEY", "sk-abc")
    with answering(lambda body: said()) as other:
        there = {"Location": f"{other.url}/models?token=s3cret"}
        with (
            answering(lambda body: (307, {}, there), (307, {}, there)) as server,
            pytest.raises(UserError, match=r"sends on to http://127\.0\.0\.1") as caught,
        ):
            await OpenAIModel(ModelSettings(id=server.url, api_key_env="SERVED_KEY")).learn()
        assert "s3cret" not in str(caught.value) and not other.headers


@contextlib.contextmanager
def raw(*parts: bytes, endless: bytes = b"", pause: float = 0.0):
    """A TCP server that answers each connection with `parts`, then with `endless` for as long as anyone listens."""
    listener = socket.create_server(("127.0.0.1", 0))
    done = threading.Event()

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                threading.Thread(target=talk, args=(connection,), daemon=True).start()

    def talk(connection: socket.socket) -> None:
        with contextlib.suppress(OSError), connection:
            connection.recv(65536)
            for part in parts:
                connection.sendall(part)
            while endless and not done.is_set():
                connection.sendall(endless)
                done.wait(pause)

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
    finally:
        done.set()
        listener.close()


OK = b"HTTP/1.1 200 OK\r\n"
RAW = {
    "closes at once": {"parts": ()},
    "no HTTP": {"parts": (b"SSH-2.0-OpenSSH_9.6\r\n",)},
    "binary": {"parts": (b"\x00\xff\xfe" * 20,)},
    "half a head": {"parts": (OK + b"Content-Le",)},
    "half a body": {"parts": (OK + b"Content-Length: 900\r\n\r\n{",)},
    "a wrong length": {"parts": (OK + b"Content-Length: -3\r\n\r\n{}",)},
    "two lengths": {"parts": (OK + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",)},
    "no length at all": {"parts": (OK + b"Content-Length: x\r\n\r\n{}",)},
    "a bad chunk": {"parts": (OK + b"Transfer-Encoding: chunked\r\n\r\nZZ\r\n{}",)},
    "an odd status": {"parts": (b"HTTP/1.1 999 ?\r\nContent-Length: 0\r\n\r\n",)},
    "no status": {"parts": (b"HTTP/1.1 abc\r\n\r\n",)},
    "a head of bytes": {"parts": (OK + b"X-\xff: \xff\r\nContent-Length: 1\r\n\r\n{",)},
    "an unknown encoding": {"parts": (OK + b"Content-Encoding: gzip, br\r\nContent-Length: 2\r\n\r\n{}",)},
    "an unknown charset": {"parts": (OK + b"Content-Type: text/json; charset=x-no\r\nContent-Length: 1\r\n\r\n{",)},
    "UTF-16": {"parts": (OK + b"Content-Length: 4\r\n\r\n" + "{}".encode("utf-16-le"),)},
    "old HTTP": {"parts": (b"HTTP/0.9 200 OK\r\n\r\n{}",)},
    "two answers": {"parts": (OK + b"Content-Length: 1\r\n\r\n{" + OK,)},
    "an endless head": {"parts": (OK,), "endless": b"X-A: " + b"a" * 4000 + b"\r\n"},
    "an endless line": {"parts": (OK + b"X: ",), "endless": b"a" * 4000},
    "endless first answers": {"parts": (), "endless": b"HTTP/1.1 102 Processing\r\n\r\n", "pause": 0.01},
    "an endless body": {"parts": (OK + b"\r\n",), "endless": b"[" * 65536},
    "a slow drip": {"parts": (OK + b"\r\n",), "endless": b" ", "pause": 0.01},
}  # fmt: skip


@pytest.mark.parametrize("server", RAW.values(), ids=RAW)
async def test_whatever_comes_over_the_wire_is_one_request_lost(server, monkeypatch):
    monkeypatch.setattr(channel, "LIMIT", 0.2)
    monkeypatch.setattr(channel, "MOST_BYTES", 2**20)
    monkeypatch.setattr(channel, "QUICK", 1)
    talk = {key: value for key, value in server.items() if key != "parts"}
    with raw(*server["parts"], **talk) as url, pytest.raises(InfrastructureError) as caught:
        await OpenAIModel(ModelSettings(id=f"{url}#m")).generate(ask())
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "localhost", "LOCALHOST.", "a.localhost", "::1", "[::1]",
                                  "::ffff:127.0.0.1", "0.0.0.0"])  # fmt: skip
def test_this_machine_is_known_by_all_its_names(host):
    assert is_loopback(host) and not is_loopback(f"{host}.example.org")


@pytest.mark.parametrize("proxy", ["http://127.0.0.1:9", "socks5://127.0.0.1:9", "127.0.0.1:9", "no proxy", "ftp://x"])
@pytest.mark.parametrize("name", ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "HTTPS_PROXY"])
async def test_this_machine_is_never_reached_through_a_proxy(name, proxy, monkeypatch):
    monkeypatch.setenv(name, proxy)
    with answering(lambda body: said()) as server:
        assert (await OpenAIModel(ModelSettings(id=server.url)).generate(ask())).text == "red"


@pytest.mark.parametrize(
    "proxy",
    [
        *("socks5://u:s3cret@127.0.0.1:9", "ftp://u:s3cret@x", "s3cret://x", "http://[s3cret", "http://s3cret:99999"),
        *("http://", "http://s3cret y", "//s3cret", "http://u:s3cret@x:abc"),
    ],
)
@pytest.mark.parametrize("name", ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"])
async def test_a_proxy_that_cannot_be_used_is_one_line(name, proxy, monkeypatch):
    monkeypatch.setenv(name, proxy)
    with pytest.raises(UserError, match=f"^{name}: ") as caught:
        await OpenAIModel(ModelSettings(id="http://model.example/v1")).learn()
    assert "s3cret" not in str(caught.value) and "\n" not in str(caught.value)


async def test_a_proxy_is_used_and_named_where_it_fails(monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    with pytest.raises(InfrastructureError, match="through the proxy of HTTP_PROXY"):
        await OpenAIModel(ModelSettings(id="http://model.example/v1")).learn()
    with answering(lambda body: said()) as server:
        monkeypatch.setenv("HTTP_PROXY", server.url.removesuffix("/v1"))
        assert (await OpenAIModel(ModelSettings(id="http://model.example/v1")).generate(ask())).text == "red"
        assert server.headers[0]["Host"] == "model.example"


async def test_a_host_that_the_environment_excepts_needs_no_proxy(monkeypatch):
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", "model.invalid")
    with pytest.raises(InfrastructureError, match="no answer"):
        await OpenAIModel(ModelSettings(id="http://model.invalid/v1")).learn()


async def test_certificates_that_cannot_be_read_are_one_line(monkeypatch, tmp_path):
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "none.pem"))
    with pytest.raises(UserError, match="SSL_CERT_FILE"):
        await OpenAIModel(ModelSettings(id="https://model.example/v1")).learn()


@pytest.mark.parametrize("key", ["sk-abc\ndef", "sk-äbc"])
async def test_doctor_names_the_variable_and_advises_what_helps(key, monkeypatch):
    monkeypatch.setenv("SERVED_KEY", key)
    with answering(lambda body: said()) as server:
        settings = RunSettings(model=ModelSettings(id=server.url, api_key_env="SERVED_KEY"), sandbox="none")
        found = (await examine(settings))[-1]
    assert (found.name, found.ok) == ("model", False) and "SERVED_KEY" in found.found and "sk-" not in found.found
    assert "rsi model fetch" not in found.remedy and "URL" in found.remedy


async def test_doctor_says_what_a_server_cannot_do():
    with answering(lambda body: said()) as server:
        found = (await examine(RunSettings(model=ModelSettings(id=server.url), sandbox="none")))[-1]
    assert found.ok and "no choices" in found.found and "no log-probabilities" in found.found


async def test_an_opened_server_brings_what_it_cannot_do():
    with answering(lambda body: said()) as server:
        async with open_model(ModelSettings(id=server.url)) as model:
            assert any("no choices" in note for note in model.notes)
            assert any("no log-probabilities" in note for note in model.notes)
            assert (await model.backend.generate(ask())).text == "red"
