"""Hidden calls of a solution: a driver evaluates them in a sandbox of their own, what they gave is compared outside.

What is expected never enters the sandbox, so code of the solution that takes over the driver can only print what it
would have to compute anyway. The nonce marks the line to read; it protects nothing. What is a kind of list, of dict or
of number counts as one, and the folder of the solution is looked in last, for modules of its own.
"""

import json
import math
import secrets
import shlex

from rsi.ports import ExecResult
from rsi.text import parse_json
from rsi.types import CallsCheck

LIMIT = 60_000  # characters of output; more is a refusal
DRIVER = """
import json, os, sys, types
dumps, write, flush = json.dumps, os.write, sys.stdout.flush
def plain(v):
    if v is None or isinstance(v, bool): return v
    if isinstance(v, int): return int.__add__(v, 0)
    if isinstance(v, str): return str.__str__(v)
    if isinstance(v, float) and v == v and abs(v) != float("inf"): return float.__add__(v, 0.0)
    if isinstance(v, list): return [plain(x) for x in list.__iter__(v)]
    if isinstance(v, tuple): return [plain(x) for x in tuple.__iter__(v)]
    if isinstance(v, dict) and all(isinstance(k, str) for k in dict.keys(v)):
        return {str.__str__(k): plain(x) for k, x in dict.items(v)}
    raise TypeError("no plain value")
def names(error):
    kind, found = type(error), [type(error).__name__]
    while (kind := kind.__base__) not in (Exception, BaseException, object, None): found.append(kind.__name__)
    return found
path, nonce, calls = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
module = types.ModuleType("solution")
module.__file__ = os.path.abspath(path)
sys.modules["solution"] = module
sys.path.append(os.path.dirname(module.__file__))
with open(path, "rb") as file: source = file.read()
exec(compile(source, path, "exec"), vars(module))
made = []
for call in calls:
    try: value = eval(call, vars(module))
    except Exception as error:
        made.append({"raises": names(error)})
        continue
    try: made.append({"value": plain(value)})
    except (TypeError, RecursionError): made.append({"unfit": ""})
flush()
write(1, ("\\n" + nonce + " " + dumps(made) + "\\n").encode())
"""


def command(check: CallsCheck) -> tuple[str, str]:
    """The shell command that evaluates the calls in the workspace, and the nonce of its one line."""
    nonce = secrets.token_hex(16)
    words = ["python3", "-I", "-c", DRIVER, check.module, nonce, json.dumps(check.calls)]
    return shlex.join(words), nonce


def problem(check: CallsCheck, nonce: str, result: ExecResult) -> str:
    """Why the calls do not give what is expected, in one line that quotes no expected value; empty where they do."""
    if result.timed_out:
        return f"the calls of {check.module} did not end in time"
    if result.exit_code != 0:
        return f"{check.module} does not load, or its calls ended with {result.exit_code}"
    if result.truncated or len(result.stdout) > LIMIT:
        return f"the calls of {check.module} printed too much"
    lines = [line for line in result.stdout.splitlines() if nonce in line]
    if len(lines) != 1 or not lines[0].startswith(nonce + " "):
        return f"the calls of {check.module} gave {len(lines)} lines of results, not one"
    try:
        made = parse_json(lines[0][len(nonce) :])
    except ValueError:
        return f"the calls of {check.module} gave no JSON"
    if not isinstance(made, list) or len(made) != len(check.expected):
        return f"the calls of {check.module} gave a wrong number of results"
    for call, found, wanted in zip(check.calls, made, check.expected, strict=True):
        if not _is_met(json.loads(wanted), found):
            return f"{call[:80]} gave {json.dumps(found)[:80]}"
    return ""


def _is_met(wanted: object, found: object) -> bool:
    """Whether a call's result is what is wanted; an error is also what its class is derived from, along
    one line: a class of all errors at once is not each of them."""
    if isinstance(wanted, dict) and "raises" in wanted and isinstance(found, dict):
        kinds = found.get("raises")
        return isinstance(kinds, list) and wanted["raises"] in kinds
    return same_value(found, wanted)


def same_value(found: object, wanted: object) -> bool:
    """Whether two values of JSON are equal, types included; floats within 1e-9 (an int is no float)."""
    if type(found) is not type(wanted):
        return False
    if isinstance(found, float) and isinstance(wanted, float):
        return math.isclose(found, wanted, rel_tol=1e-9, abs_tol=1e-9)
    if isinstance(found, list) and isinstance(wanted, list):
        return len(found) == len(wanted) and all(map(same_value, found, wanted))
    if isinstance(found, dict) and isinstance(wanted, dict):
        return found.keys() == wanted.keys() and all(same_value(found[key], wanted[key]) for key in found)
    return found == wanted
