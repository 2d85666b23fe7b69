"""A whole generation against a server that goes wrong in each of its ways: a verdict or one clear line, and nothing
is recorded that the server did not say."""

import json

import pytest
from faulty_modes import MODES
from faulty_server import faulty
from served_world import recorded, stages, write_settings

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("mode", MODES)
def test_a_run_ends_well_or_with_one_line(mode, served):
    folder, home, run = served
    with faulty(mode) as server:
        ended = run("run", str(write_settings(folder, server.url)))
        good = server.good
    print(json.dumps({"mode": mode, "code": ended.code, "decision": ended.decision, "line": ended.err.strip()}))
    scored = recorded(home)
    if ended.code == 0:
        assert ended.decision is not None and ended.err == ""
    else:
        assert ended.err.startswith("rsi: ") and len(ended.err.splitlines()) == 1 and "Traceback" not in ended.err
        assert "gate" not in stages(home)
    answered = [a for a in scored if a["termination"] not in ("refused", "context")]
    assert len(answered) <= good
