"""10,000 mutated documents, banks and tool outputs: each is taken, refused in one clear line, or a recorded outcome."""

import asyncio
import string
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from toml_mutations import texts

from rsi.banks.catalogue import load_catalogue
from rsi.banks.definition import load_definition
from rsi.errors import UserError
from rsi.harness.protocol import read_action
from rsi.harness.tools import observe
from rsi.hcp.check import check
from rsi.hcp.diff import diff
from rsi.hcp.document import load, parse
from rsi.models.scripted import Rule, ScriptedModel, Table
from rsi.ports import ExecResult, SandboxProvider
from rsi.rollouts.episode import Parts, play
from rsi.sandbox.probe import probe
from rsi.types import AttemptSpec, Budgets, HarnessConfig, Job, OutputCheck, Recipe, Task, TaskKey, Termination
from rsi.verify.checks import CheckVerifier
from rsi.verify.compare import same

pytestmark = pytest.mark.slow

DOCUMENTS = sorted(Path("harness_configs").rglob("*.toml"))
BANKS = sorted(Path("task_banks").glob("*/bank.toml"))
CATALOGUES = sorted(Path("task_banks").glob("*/catalogue.toml"))


def many(n: int) -> settings:
    return settings(
        max_examples=n, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
    )


def refused_or_taken(work: Callable[[], object]) -> None:
    """UserError in one line of bounded length is the one error that a user's mistake may be."""
    try:
        work()
    except UserError as error:
        said = str(error)
        assert said and "\n" not in said.strip(), said
        assert "Traceback" not in said


@many(4000)
@given(text=texts(DOCUMENTS))
def test_documents(text: str):
    def work() -> None:
        document = parse(text, "some.toml")
        document.harness()
        check(document)
        diff(load(DOCUMENTS[0]), document)
        assert parse(document.text, "again.toml").digest == document.digest

    refused_or_taken(work)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("bank")


@many(1500)
@given(text=texts(BANKS))
def test_banks(folder: Path, text: str):
    (folder / "bank.toml").write_text(text, encoding="utf8", errors="replace")
    refused_or_taken(lambda: load_definition(folder))


@many(1000)
@given(text=texts(CATALOGUES))
def test_catalogues(folder: Path, text: str):
    (folder / "bank.toml").write_bytes(Path("task_banks/shell/bank.toml").read_bytes())
    (folder / "catalogue.toml").write_text(text, encoding="utf8", errors="replace")
    refused_or_taken(lambda: load_catalogue(folder))


PIECES = st.sampled_from(
    ["```", "```sh\n", "\n```\n", "<answer>", "</answer>", "```read ", "```write ../x\n", "\x00", "é", "\u202e"]
)
OUTPUT = st.lists(st.one_of(PIECES, st.text(max_size=20)), max_size=12).map("".join)


@many(3300)
@given(text=OUTPUT, errors=OUTPUT, code=st.integers(-300, 300), late=st.booleans())
def test_tool_outputs(text: str, errors: str, code: int, late: bool):
    result = ExecResult(code, text, errors, late, late)
    shown = observe(result, 1.0, 200)
    assert shown and len(shown) < 600
    action = read_action(text, ("shell", "read", "write"))
    assert action is None or action.text is not None
    for mode in ("exact", "numeric", "lines"):
        same(text, errors, mode)


COMMANDS = st.lists(
    st.sampled_from(
        ["echo 3", "printf '\\377\\000\\n'", "exit 7", "kill -9 $$", "cat missing", "yes | head -c 300000", "ls >&2"]
    )
    | st.text(string.printable, max_size=20),
    min_size=1,
    max_size=3,
).map("; ".join)


@pytest.fixture(scope="module")
def provider() -> SandboxProvider:
    found, reasons = asyncio.run(probe("auto"))
    if found is None:
        pytest.skip("; ".join(reasons))
    return found


@many(200)
@given(reply=st.one_of(COMMANDS.map("```sh\n{}\n```\n".format), OUTPUT), seed=st.integers(0, 1000))
def test_episodes(provider: SandboxProvider, reply: str, seed: int):
    """Whatever a model writes and a command prints, the attempt is recorded: scored, or unscored with its reason."""
    task = Task(id="t", bank="b", recipe=Recipe(family="f"), split="train", instance=0, request="Print 3.")
    key = TaskKey(task_id="t", reference="echo 3", checks=(OutputCheck(expected="3"),))
    spec = AttemptSpec(task_id="t", pair="p", purpose="fuzz", draw=0, sandbox=provider.identity, seed=seed)
    harness = HarnessConfig(document_digest="d", system="s", budgets=Budgets(turns=2, tokens=4000, seconds=4))
    model = ScriptedModel(Table(rules=(Rule(replies=((reply, 1.0),)),)))
    job = Job(spec=spec, task=task, key=key, harness=harness)
    attempt = asyncio.run(play(job, Parts(model, provider, CheckVerifier(provider))))
    assert (attempt.score is None) == (attempt.termination is Termination.INFRASTRUCTURE)
    assert attempt.score is not None or attempt.error
