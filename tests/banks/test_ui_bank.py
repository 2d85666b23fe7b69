"""The ui bank: its references pass in a real browser, and what breaks a rule does not."""

import random
import re
from pathlib import Path

import pytest

from rsi.banks.generated import open_bank
from rsi.banks.near import SealedScan
from rsi.banks.ui import UI
from rsi.sandbox.bubblewrap import Bubblewrap
from rsi.types import UiCheck
from rsi.verify.ui.verifier import UiJudge, code_of
from rsi.wiring.browser import LIMITS

BROKEN = {  # family -> what of its reference becomes what, and the layer that sees it
    "counter": ("d.n + k <= d.high", "true", "controls"),
    "sign_up": ("{ name, club: d.club }", '{ name, club: d.club, x: btoa($("code").value) }', "NoAI"),
    "tabs": ("show(0);", "show(0); root.style.minWidth = '900px';", "overflow"),
    "limit": ("show();\n}", "show(); fetch('http://a.test/');\n}", "constraints"),
    "cart": ("sum = n = 0", "sum = n = ab", "controls"),
}


def instance(name: str, difficulty: int = 1):
    made = UI[name](random.Random(5), difficulty)
    (check,) = made.checks
    assert isinstance(check, UiCheck)
    return made, check


@pytest.mark.parametrize("name", UI)
def test_a_request_names_every_id_and_gives_no_hidden_text_away(name: str):
    for difficulty in (1, 2, 3):
        made, check = instance(name, difficulty)
        code = code_of(made.reference)
        assert code.startswith("export default function mount(root, host)") and "import" not in code
        for step in check.steps:
            (ident,) = re.findall(r"^#[a-z]+(?:-[a-z]+)?", step.at)
            assert ident.rstrip("bcdefgh") in made.request or ident in made.request
        assert not [text for text in check.no_ai if text in made.request or text in code]
        assert [step for step in check.steps if step.do == "read"]


def test_no_open_task_is_near_a_sealed_one_and_some_families_are_held_out():
    bank = open_bank(Path("task_banks/ui"), b"s" * 32)
    scan = SealedScan(bank.tasks("sealed"))
    assert not [task.request for split in ("train", "selection") for task in bank.tasks(split) if scan(task)]
    assert len(set(UI) - set(bank.open_families)) == 4 and len(UI) == 16


@pytest.mark.browser
@pytest.mark.parametrize("name", UI)
async def test_the_reference_passes(esbuild: Path, name: str):
    made, check = instance(name, 1 + list(UI).index(name) % 3)
    assert await UiJudge(Bubblewrap(LIMITS), esbuild.read_bytes()).problem(check, made.reference) == ""


@pytest.mark.browser
@pytest.mark.parametrize("name", BROKEN)
async def test_a_broken_component_fails(esbuild: Path, name: str):
    old, new, layer = BROKEN[name]
    made, check = instance(name)
    assert old in made.reference
    told = await UiJudge(Bubblewrap(LIMITS), esbuild.read_bytes()).problem(check, made.reference.replace(old, new))
    assert told.startswith((layer, "renders")), told
