"""Whatever a model says, in each protocol, its attempt is scored, recorded, and read back as it was."""

import asyncio
import json

import pytest
from hostile import play_hostile
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytestmark = pytest.mark.slow

ANY = st.text(st.characters(exclude_categories=()), max_size=30)  # halves of surrogate pairs and NUL too
PIECES = st.sampled_from(
    [
        "```sh\n", "```python\n", "```read ", "```write ", "```call save_tool\n", "\n```\n", "````write a\n",
        "\n````\n",
        "~~~sh\n", "\r\n", "\r", "<answer>", "</answer>", "\0", "\ud83d", "\udc00", "print(chr(0xd83d))", "echo 3\n",
        "../x",
        "printf '\\377\\000'", "exit 1", "{", "}", "9" * 2000, "[" * 500, "x" * 5000, "import os; os._exit(1)",
        "'", '"',
    ]
)  # fmt: skip
TEXT = st.lists(PIECES | ANY, max_size=10).map("".join)
VALUE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | ANY,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ANY, inner, max_size=4),
    max_leaves=8,
)
GIVEN = st.dictionaries(st.sampled_from(["command", "path", "content", "name", "code"]) | ANY, VALUE, max_size=4)
ARGUMENTS = st.one_of(
    GIVEN.map(json.dumps), GIVEN.map(lambda given: json.dumps(given)[:-2]), VALUE.map(json.dumps), TEXT,
    ANY.map(lambda text: json.dumps({"command": text, "path": text, "content": text})),
)  # fmt: skip
NAMES = st.sampled_from(["shell", "read", "write", "save_tool", "", "mcp__s__t"]) | ANY
REPLY = TEXT | st.lists(st.tuples(NAMES, ARGUMENTS), min_size=1, max_size=4)


@settings(max_examples=120, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
@pytest.mark.parametrize("protocol", ["text", "repl", "tools"])
@given(replies=st.lists(REPLY, min_size=1, max_size=3))
def test_episodes(provider, protocol, replies):
    asyncio.run(play_hostile(provider, protocol, *replies, turns=3, seconds=2))
