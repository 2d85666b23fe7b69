"""The faulty server does what its modes say, seen by a client that is not ours."""

import http.client
import json
import time
import zlib

import pytest
from faulty_modes import ANSWER, GOOD, MODES
from faulty_server import faulty

ASKED = {"model": "m", "messages": [{"role": "user", "content": "How many?"}], "max_tokens": 8}
WIRE = {
    "cut_in_the_middle", "cut_chunks", "dripping", "endless", "silent", "reset", "other_protocol", "broken_head",
    "long_head", "too_long_length",
}  # fmt: skip


def ask(server, body=ASKED, headers=None, timeout=5.0, path="/v1/chat/completions"):
    connection = http.client.HTTPConnection(*server.server_address[:2], timeout=timeout)
    try:
        if path.endswith("/models"):
            connection.request("GET", path)
        else:
            connection.request("POST", path, json.dumps(body), headers or {})
        response = connection.getresponse()
        return response.status, response.read(), dict(response.getheaders())
    finally:
        connection.close()


def test_there_are_many_modes():
    assert len(MODES) >= 60 and MODES.keys() > WIRE


@pytest.mark.parametrize("name", sorted(MODES.keys() - WIRE - {"bomb"}))
def test_a_mode_answers_with_whole_http(name):
    with faulty(name) as server:
        status, _, _ = ask(server)
        models = ask(server, path="/v1/models")
    assert len(server.calls) == 1 and server.calls[0].body == ASKED
    assert models[0] in (200, 401, 404)
    if server.good:
        assert status == 200


@pytest.mark.parametrize("name", sorted(WIRE))
def test_a_mode_of_the_wire_gives_no_whole_answer(name):
    with faulty(name) as server:
        try:
            connection = http.client.HTTPConnection(*server.server_address[:2], timeout=0.2)
            connection.request("POST", "/v1/chat/completions", json.dumps(ASKED))
            response = connection.getresponse()
            began, read = time.monotonic(), 0
            while time.monotonic() < began + 0.5 and read < 2_000_000:
                part = response.read1(65536)
                read += len(part)
                if not part:
                    break
            whole = response.isclosed() and response.length in (0, None) and read < 2_000_000
            assert not (whole and name in ("dripping", "endless", "silent"))
        except (OSError, http.client.HTTPException):
            pass
        finally:
            connection.close()
    assert server.good == 0


def test_well_is_well():
    with faulty("well") as server:
        status, body, _ = ask(server)
        assert json.loads(ask(server, path="/v1/models")[1])["data"][0]["id"] == "m"
    assert status == 200 and json.loads(body)["choices"][0]["message"]["content"] == ANSWER and server.good == 1


def test_a_server_that_goes_out_later_answers_so_many_well():
    with faulty("unavailable_later") as server:
        codes = [ask(server)[0] for _ in range(GOOD + 3)]
    assert codes == [200] * GOOD + [503] * 3 and server.good == GOOD


def test_a_filter_refuses_the_same_requests_each_time():
    bodies = [{**ASKED, "messages": [{"role": "user", "content": f"How many {n}?"}]} for n in range(50)]
    with faulty("content_filter") as server:
        codes = [[ask(server, body)[0] for body in bodies] for _ in range(2)]
    assert codes[0] == codes[1] and 4 <= codes[0].count(400) <= 16


def test_half_an_argument_is_refused_once_it_stands_in_the_history():
    tools = [{"type": "function", "function": {"name": "shell"}}]
    with faulty("cut_off_arguments") as server:
        first = json.loads(ask(server, {**ASKED, "tools": tools})[1])["choices"][0]["message"]
        history = [*ASKED["messages"], first, {"role": "tool", "content": "no JSON", "tool_call_id": "call_1"}]
        refused = ask(server, {**ASKED, "tools": tools, "messages": history})[0]
        first["tool_calls"][0]["function"]["arguments"] = "{}"
        taken = ask(server, {**ASKED, "tools": tools, "messages": history})[0]
    assert (refused, taken) == (400, 200)


def test_a_mode_can_change_and_a_key_is_echoed():
    with faulty("busy") as server:
        assert ask(server)[0] == 429
        server.mode = MODES["echoes_key"]
        status, body, _ = ask(server, headers={"Authorization": "Bearer planted"})
        assert status == 400 and b"planted" in body
        server.mode = MODES["well"]
        assert ask(server)[0] == 200


def test_a_bomb_is_small_on_the_wire():
    with faulty("bomb") as server:
        _, body, headers = ask(server)
    unpacked = zlib.decompressobj(31).decompress(body, 1_000_000)
    assert len(body) < 1_000_000 <= len(unpacked) and headers["Content-Encoding"] == "gzip"
