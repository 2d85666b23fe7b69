"""Which hooks an event concerns. Patterns are globs, never regular expressions: a document from elsewhere cannot make
one that runs for ever on a model's hostile text."""

import re
from collections.abc import Mapping
from fnmatch import fnmatchcase

ALIASES: Mapping[str, str] = {"bash": "shell"}  # RFC-0002's names of our tools
LONGEST = 20_000  # characters of an argument that are compared; a longer one fits every pattern, so it is looked at
_CONDITION = re.compile(r"([^()]*)\((.*)\)", re.DOTALL)


def matches(matcher: str, tool: str) -> bool:
    """Whether `matcher`, names or globs with `|` between them, takes in the tool. Empty and `*` take in everything."""
    if matcher.strip() in ("", "*", ".*"):
        return True
    return any(fnmatchcase(_known(tool), _known(part)) for part in matcher.split("|"))


def holds(condition: str, tool: str, argument: str) -> bool:
    """Whether a condition such as `bash(rm *)` holds: the tool, then a glob over its argument (a command or a path).
    Without brackets it names tools alone; an empty one always holds."""
    if not condition.strip():
        return True
    found = _CONDITION.fullmatch(condition.strip())
    if found is None:
        return matches(condition, tool)
    names, pattern = found.groups()
    return matches(names, tool) and (not pattern or len(argument) > LONGEST or fnmatchcase(argument, pattern))


def _known(name: str) -> str:
    lower = name.strip().casefold()
    return ALIASES.get(lower, lower)
