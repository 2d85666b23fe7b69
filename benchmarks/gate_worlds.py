"""What the gate's benchmarks share: the contract that ships, worlds with the embedded model's base rates, both cores.

The base rates (base_rates.json) are those of 34 families of the shell bank's one-liners, 8 to 16 draws each (379 in
all), by the embedded model under the bank's default document.
"""

import json
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path
from typing import TypeVar

from rsi.config import project_root
from rsi.gate.contract import Contract, load_contract

T = TypeVar("T")
WORKERS = 2


@cache
def contract() -> Contract:
    return load_contract(project_root() / "contracts/default.toml")


@cache
def base_rates() -> tuple[float, ...]:
    """A rate a family, each in [0, 1]."""
    return tuple(json.loads((Path(__file__).parent / "base_rates.json").read_text()).values())


def shared(work: Callable[[int], Sequence[T]], chunks: int) -> list[T]:
    """`work(chunk)` of each chunk, in order, over both cores."""
    with ProcessPoolExecutor(WORKERS) as pool:
        return [item for found in pool.map(work, range(chunks)) for item in found]
