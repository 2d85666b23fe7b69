"""A whole generation against a server that goes wrong in each of its ways: a verdict or one clear line, and nothing
is recorded that the server did not say."""

import json

import pytest
from faulty_modes import MODES
from faulty_server import faulty
from served_world import recorded, stages, write_settings

pytestmark = pytest.mark.slow

# What ends a run: an outage (exit code 1, the same command goes on later) or a wrong set-up (2). All others do well.
OUTAGES = {
    "unavailable", "unavailable_later", "busy", "not_found_later", "key_expires", "echoes_key_failing", "finish_error",
    "error_with_200", "no_choices", "null_choices", "absent_choices", "null_choice", "null_message", "a_list", "a_null",
    "wrong_json", "html", "empty_body", "no_content_status", "event_stream", "not_utf8", "deep_nesting",
    "huge_integers", "compressed_garbage", "bomb", "too_short_length", "too_long_length", "cut_in_the_middle",
    "cut_chunks", "dripping", "endless", "silent", "reset", "reset_later", "other_protocol", "broken_head", "long_head",
    "null_models", "models_as_html", "models_as_list",
}  # fmt: skip
SETUPS = {
    "wrong_key", "forbidden", "echoes_key", "payment", "teapot", "redirect", "redirect_loop", "redirect_without_place",
    "no_models", "models_absent", "models_forbidden", "model_without_id",
}  # fmt: skip
REFUSING = {"content_filter", "breaks_on_a_conversation", "content_filter_as_finish"}


def test_what_is_expected_is_of_modes_that_there_are():
    assert MODES.keys() >= OUTAGES | SETUPS | REFUSING and not OUTAGES & SETUPS


@pytest.mark.parametrize("mode", MODES)
def test_a_run_ends_well_or_with_one_line(mode, served):
    folder, home, run = served
    with faulty(mode) as server:
        settings = str(write_settings(folder, server.url))
        ended = run("run", settings)
        good = server.good
    scored = recorded(home)
    ends = {a["termination"] for a in scored}
    assert ended.code == (1 if mode in OUTAGES else 2 if mode in SETUPS else 0), ended.err
    if ended.code == 0:
        assert ended.decision is not None and ended.err == ""
        told = json.loads(run("status", settings, "--json").out)["losses"][0]
        assert (told["refused"] > 0) == ("refused" in ends) and told["lost"] == {}
    else:
        assert ended.err.startswith("rsi: ") and len(ended.err.splitlines()) == 1 and "Traceback" not in ended.err
        assert "gate" not in stages(home)
    assert sum(a["termination"] not in ("refused", "context") for a in scored) <= good
    assert "refused" not in ends or mode in REFUSING
