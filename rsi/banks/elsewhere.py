"""A generator that comes with its bank is code from elsewhere: it runs in a sandbox, and what it gives is checked data.

For each family and level it is asked once for a pool of instances, by seeds that come from the home's salt; a table
then draws from the pools. The generator reads a JSON list of [family, difficulty, seed] on its standard input and
prints a JSON list of as many instances, the same for the same seeds.
"""

import asyncio
import functools
import hmac
import json
import random
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from rsi.banks.definition import BankDefinition
from rsi.banks.instance import Generator, Instance
from rsi.banks.made import MALFORMED, contradicted, read_instance
from rsi.errors import InfrastructureError, UserError
from rsi.files import read_file
from rsi.ids import canonical
from rsi.ports import ExecResult, SandboxProvider

POOL = 400  # instances a family and level
AGAIN = 3  # of a pool, asked of another process too: the same seed must give the same instance
SECONDS = 30.0  # for one call
MOST_CODE, MOST_OUTPUT = 1_000_000, 32_000_000  # bytes of the generator; characters that one call may print
BATCH = 8000  # instances a call
NO_LIST = "prints what is no list of instances, and nothing else may be printed"
PYTHON = "python3 -I generator.py < wanted.json"

Wanted = tuple[str, int, int]  # family, difficulty, seed
Place = tuple[str, int]  # family, difficulty


class Elsewhere:
    """The families of a bank that has its own generator, as a table. Pools are filled when they are first needed, those
    of the bank's splits together. UserError, here or then, where the generator fails, hangs or gives something else."""

    def __init__(self, definition: BankDefinition, code: Path, provider: SandboxProvider, salt: bytes) -> None:
        self._definition, self._path, self._provider, self._salt = definition, code, provider, salt
        self._code = read_file(code, "generator", MOST_CODE)
        self._pools: dict[Place, list[Instance]] = {}
        splits = definition.splits
        levels = {*splits.train.difficulties, *splits.selection.difficulties, *splits.sealed.difficulties}
        self._fill(
            [
                (name, level)
                for name, family in definition.families.items()
                for level in sorted({min(max(level, family.difficulty[0]), family.difficulty[1]) for level in levels})
            ]
        )

    def table(self) -> Mapping[str, Generator]:
        return {name: functools.partial(self._draw, name) for name in self._definition.families}

    def _draw(self, family: str, rng: random.Random, difficulty: int) -> Instance:
        if (family, difficulty) not in self._pools:
            self._fill([(family, difficulty)])
        return rng.choice(self._pools[family, difficulty])

    def _fill(self, places: Sequence[Place]) -> None:
        wanted = [(family, level, self._seed(family, level, n)) for family, level in places for n in range(POOL)]
        made: list[Instance] = []
        for start in range(0, len(wanted), BATCH):
            made += self._ask(wanted[start : start + BATCH])
        few = [i for i in range(len(wanted)) if i % POOL < AGAIN]
        for i, again in zip(few, self._ask([wanted[i] for i in few]), strict=True):
            if again != made[i]:
                raise self._wrong(wanted[i], "gives another instance when it is asked again with the same seed; use no "
                                  "set order, clock or random source but the seed")  # fmt: skip
        if all(one.problem.startswith(MALFORMED) for one in made):
            raise self._wrong(wanted[0], f"{NO_LIST}: {made[0].problem.removeprefix(MALFORMED)}")
        for n, place in enumerate(places):
            self._pools[place] = contradicted(made[n * POOL : (n + 1) * POOL])

    def _seed(self, family: str, level: int, n: int) -> int:
        return int.from_bytes(hmac.digest(self._salt, canonical(["pool", family, level, n]), "sha256")[:6], "big")

    def _ask(self, wanted: Sequence[Wanted]) -> list[Instance]:
        """One call of the generator, in a sandbox and a loop of its own: the caller may stand in another loop."""
        with ThreadPoolExecutor(1) as thread:
            result = thread.submit(lambda: asyncio.run(self._call(json.dumps(wanted).encode()))).result()
        if result.timed_out:
            raise self._wrong(wanted[0], f"does not end within {SECONDS:.0f} seconds for {len(wanted)} instances")
        if result.exit_code:
            for family in dict.fromkeys(name for name, _, _ in wanted) if wanted[0][0] != wanted[-1][0] else ():
                self._ask([one for one in wanted if one[0] == family])  # so that the one at fault is named
            raise self._wrong(wanted[0], f"exits with {result.exit_code}: {_said(result.stderr)}")
        if result.truncated:
            raise self._wrong(wanted[0], f"prints more than {MOST_OUTPUT} characters for {len(wanted)} instances")
        values = _read_list(result.stdout)
        if values is None:
            raise self._wrong(wanted[0], f"{NO_LIST}: it is no JSON list")
        if len(values) != len(wanted):
            raise self._wrong(wanted[0], f"gives {len(values)} instances, not {len(wanted)}")
        return [
            read_instance(value, f"{family}, difficulty {level}, seed {seed}")
            for value, (family, level, seed) in zip(values, wanted, strict=True)
        ]

    async def _call(self, wanted: bytes) -> ExecResult:
        try:
            sandbox = await self._provider.open()
            try:
                await sandbox.put({"generator.py": self._code, "wanted.json": wanted})
                return await sandbox.exec(PYTHON, SECONDS, MOST_OUTPUT)
            finally:
                await sandbox.close()
        except InfrastructureError as error:
            raise InfrastructureError(f"{self._path}: the sandbox of the generator broke: {error}") from None

    def _wrong(self, wanted: Wanted, what: str) -> UserError:
        family, level, seed = wanted
        return UserError(f"{self._path}: family '{family}', difficulty {level}, seed {seed}: the generator {what}")


def _read_list(text: str) -> list[Any] | None:
    """What was printed; None where it is no JSON list. What its items hold is judged one by one."""
    try:
        values = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return values if isinstance(values, list) else None


def _said(stderr: str) -> str:
    """A traceback in a line: the generator's own last line, and the error."""
    lines = (stderr.strip() or "it said nothing").split("\n")
    places = [line.split(", in ")[0].split('"')[-1] for line in lines if '/generator.py", line ' in line]
    return f"{lines[-1][:200]}{places[-1] if places else ''}"


def find_code(folder: Path, name: str) -> Path:
    """The generator's file in a bank's folder. UserError where it is missing, too large or not inside."""
    where, path = f"{folder / 'bank.toml'}: 'generator'", folder / name
    if Path(name).is_absolute() or ".." in Path(name).parts or not path.resolve().is_relative_to(folder.resolve()):
        raise UserError(f"{where}: '{name}' must be a file inside the bank's folder")
    if not path.is_file():
        raise UserError(f"{where}: there is no file {path}")
    if path.stat().st_size > MOST_CODE:
        raise UserError(f"{where}: {path} is larger than {MOST_CODE} bytes")
    return path
