"""save_tool: what an agent proposes for later episodes. It is staged with the attempt; nothing is run or kept here."""

import keyword
import re
from collections.abc import Mapping, Set
from typing import Any

from pydantic import ValidationError

from rsi.config import first_problem
from rsi.errors import UserError
from rsi.harness.repl import Masked, Tool
from rsi.text import unix_lines
from rsi.types import StagedTool

SAVE = "save_tool"
MOST = 5  # of an episode; saving a name again replaces its code


class Saved:
    """The functions saved in one episode. `taken`: names of tools, which no saved function may have."""

    def __init__(self, taken: Set[str], masked: Masked) -> None:
        self._masked = masked
        self._taken = {*taken, SAVE, "ToolError"}
        self._staged: dict[str, StagedTool] = {}

    @property
    def staged(self) -> tuple[StagedTool, ...]:
        return tuple(self._staged.values())

    @property
    def tool(self) -> Tool:
        names = {name: {"type": "string"} for name in ("name", "code")}
        schema = {"type": "object", "properties": names, "required": ["name", "code"], "additionalProperties": False}
        return Tool(SAVE, "Proposes a function for later tasks.", self._save, schema)

    async def _save(self, arguments: Mapping[str, Any]) -> str:
        try:
            given = {key: unix_lines(value) if isinstance(value, str) else value for key, value in arguments.items()}
            staged = StagedTool.model_validate(given)
        except ValidationError as error:
            raise UserError(f"{SAVE}: {first_problem(error)}") from None
        if keyword.iskeyword(staged.name) or staged.name in self._taken:
            raise UserError(f"{SAVE}: the name '{staged.name}' is taken; choose another")
        if not re.search(rf"^def {staged.name}\(", staged.code, re.MULTILINE):
            raise UserError(f"{SAVE}: the code holds no 'def {staged.name}(' at its top level")
        if self._masked.mask(staged.code) != staged.code:
            raise UserError(f"{SAVE}: the code holds a hidden value; take it as an argument instead")
        if len(self._staged) >= MOST and staged.name not in self._staged:
            raise UserError(f"{SAVE}: at most {MOST} functions are saved in one task")
        self._staged[staged.name] = staged
        return f"{staged.name} is proposed; it counts once it has been proven on other inputs"
