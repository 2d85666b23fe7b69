"""What MCP servers offer, as it comes: pages, names, schemas. Each in a real sandbox."""

import json
import re

import pytest
from odd_server import ask, lists, offered

from rsi.errors import UserError
from rsi.harness.mcp import McpTool
from rsi.harness.mcp.client import MAX_TOOLS
from rsi.harness.mcp.toolset import offered_names
from rsi.text import clean


async def test_pages_are_followed(sandbox):
    odd = """
def listed(asked):
    at = int(asked["params"].get("cursor", 0))
    more = {"nextCursor": str(at + 1)} if at < 4 else {}
    answer(asked, {"tools": [{"name": "t%d" % at}], **more})
"""
    tools = await offered(sandbox, odd)
    assert sorted(tools) == [f"mcp__s__t{n}" for n in range(5)]
    assert await ask(tools, "mcp__s__t3") == {"result": "it is t3"}


@pytest.mark.parametrize(
    ("cursor", "most"),
    [
        ('"same"', 2), ('"a" if asked["params"].get("cursor") == "b" else "b"', 3), ('""', 1), ("None", 1), ("7", 2),
        ("[1]", 1), ("{}", 1), ("True", 2), ('"x" * 200_000', 0),
    ],
)  # fmt: skip
async def test_a_list_without_an_end_ends(sandbox, cursor, most):
    odd = f"""
N = 0
def listed(asked):
    global N
    N += 1
    answer(asked, {{"tools": [{{"name": "t%d" % N}}], "nextCursor": {cursor}}})
"""
    if most == 0:
        with pytest.raises(UserError, match="lists no tools"):
            await offered(sandbox, odd)
    else:
        assert len(await offered(sandbox, odd)) == most


@pytest.mark.slow
async def test_cursors_that_always_advance_are_bounded(sandbox):
    odd = """
N = 0
def listed(asked):
    global N
    N += 1
    answer(asked, {"tools": [{"name": "same"}] if N % 2 else [], "nextCursor": str(N)})
"""
    assert list(await offered(sandbox, odd)) == ["mcp__s__same"]


async def test_a_long_list_is_bounded(sandbox):
    odd = 'def listed(asked):\n    answer(asked, {"tools": [{"name": "t%d" % n} for n in range(2000)]})'
    assert len(await offered(sandbox, odd)) == MAX_TOOLS


async def test_each_tool_has_a_name_of_its_own_and_is_called_by_it(sandbox):
    names = [
        "get.user", "get_user", "get-user", "get user", "get/user", "ä", "ö", "", "x" * 64, "x" * 65, "x" * 66, "1",
        "get_user", "a\u202eb", "a\u0000b", "\ud83d", "日本語",
    ]  # fmt: skip
    tools = await offered(sandbox, lists(*({"name": name} for name in names)))
    assert len(tools) == len(set(names)), "one that is listed twice is one tool"
    assert all(re.fullmatch(r"[a-zA-Z0-9_]{1,64}", name) and name.isidentifier() for name in tools)
    told = [(await ask(tools, name))["result"] for name in tools]
    assert told == [f"it is {clean(name)}" for name in dict.fromkeys(names)]
    assert (await ask(tools, "mcp__s__get_user"))["result"] == "it is get_user", "a sound name stays a tool's own"


def test_names_do_not_hang_on_the_order_and_do_not_meet():
    tools = [McpTool(s, t) for s, t in [("a", "b__c"), ("a__b", "c"), ("a", "d.e"), ("a", "d-e"), ("a", "y" * 99)]]
    names = offered_names(tools)
    assert len(set(names)) == 5 and names[0] == "mcp__a__b__c" and max(map(len, names)) == 64
    assert offered_names(tools[:1:-1]) == names[:1:-1]
    spoof = McpTool("a", names[2].removeprefix("mcp__a__"))
    assert len(set(offered_names([*tools, spoof]))) == 6


SCHEMAS = [
    {"type": "object", "properties": None, "required": None}, None, True, False, 3, "object", [], {},
    {"type": "string"},
    {"type": ["object", "null"]}, {"properties": []}, {"properties": {"a": None}}, {"properties": {"a": True}},
    {"properties": {"a": {"type": "nonsense"}}}, {"properties": {"a": {"type": 5}}}, {"required": "a"}, {"required": 3},
    {"required": [None, 1, ["a"], {}]}, {"additionalProperties": None}, {"additionalProperties": 0},
    {"$ref": "#/$defs/A", "$defs": {"A": {"properties": {"a": {"$ref": 3}}}}}, {"$defs": None, "allOf": None},
    {"anyOf": [None, {"required": None}]}, {"properties": {"a": {"items": None, "enum": None}}}, {"enum": {}},
    {"properties": {"a": {"type": "array", "items": [{"type": "string"}]}}}, {"properties": {"x" * 30_000: {}}},
    json.loads('{"properties": {"a": ' * 40 + "{}" + "}}" * 40), {"type": None, "description": None, "title": 7},
]  # fmt: skip


@pytest.mark.slow
async def test_whatever_a_tool_says_of_its_arguments_it_is_offered_and_called(sandbox):
    said = [{"name": f"t{n}", "inputSchema": schema, "description": None} for n, schema in enumerate(SCHEMAS)]
    tools = await offered(sandbox, lists(*said, {"name": "bare"}, {"name": 3}, {}, None, "t", {"name": "x" * 9000}))
    assert len(tools) == len(SCHEMAS) + 1
    for name, tool in tools.items():
        assert "None" not in tool.text
        assert unsound(dict(tool.schema)) == "" and tool.schema["type"] == "object"
        assert await ask(tools, name, {"b": 1}) == {"result": "it is " + name.removeprefix("mcp__s__")}


def unsound(schema):
    """What of a schema a strict server refuses; empty where it is taken."""
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError

    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        return str(error)
    return ""


async def test_what_a_schema_demands_is_still_demanded(sandbox):
    schema = {
        "type": "object",
        "properties": {"a": {"type": "string"}},
        "required": ["a"],
        "additionalProperties": False,
    }
    tools = await offered(sandbox, lists({"name": "t", "inputSchema": schema}))
    assert tools["mcp__s__t"].schema == schema
    assert "missing: a" in (await ask(tools, "mcp__s__t"))["error"]
    assert "unknown arguments: b" in (await ask(tools, "mcp__s__t", {"a": "", "b": ""}))["error"]
