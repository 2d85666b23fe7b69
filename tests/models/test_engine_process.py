"""The engine in its own process: the conformance suite through the client, killing, stopping, starting again."""

import asyncio
import os
import pickle
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from model_conformance import ask, named

from rsi.config import ModelSettings
from rsi.errors import InfrastructureError, UserError
from rsi.models.embedded.client import EngineClient
from rsi.models.embedded.fetch import ModelFolder
from rsi.models.embedded.process import EngineProcess
from rsi.weights import content_digest, file_digests

pytestmark = pytest.mark.model
SETTINGS = ModelSettings(device="cpu", dtype="float32", threads=1)


@pytest.fixture(scope="module")
def process(model_folder, adapters_root):
    process = EngineProcess(model_folder, adapters_root, SETTINGS)
    process.start()
    yield process
    process.stop()


@pytest.mark.parametrize(**named())
async def test_embedded(check, process):
    client = EngineClient(process.address)
    await check(client)
    await client.close()


def test_the_socket_is_its_owners_alone(process):
    folder = Path(process.address).parent
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700 and folder.stat().st_uid == os.getuid()


def test_one_client_serves_several_loops(process):
    client = EngineClient(process.address)
    answers = [asyncio.run(client.generate(ask())) for _ in range(2)]
    assert answers[0] == answers[1]


async def test_adapters_travel(process, names):
    client = EngineClient(process.address)
    assert (await client.generate(ask(adapter=names["strong"]))).policy_version == names["strong"]
    await client.close()


async def test_a_client_that_talks_nonsense_harms_nobody(process):
    client = EngineClient(process.address)
    reader, writer = await asyncio.open_unix_connection(process.address)
    writer.write(b'{"id": 1, "request": {"messages": 7}}\n')
    assert set((await reader.read()).splitlines()) <= {b'{"id":-1}'}, "only that the engine lives"
    writer.close()
    assert (await client.generate(ask())).text
    await client.close()


async def test_killed_and_started_again(model_folder, adapters_root):
    """Requests in flight and later ones raise InfrastructureError; the same client works once the engine is back."""
    process = EngineProcess(model_folder, adapters_root, SETTINGS)
    await asyncio.to_thread(process.start)
    client = pickle.loads(pickle.dumps(EngineClient(process.address)))
    first = await client.generate(ask())
    os.kill(process.pid, signal.SIGSTOP)  # so that none is answered before the kill
    flying = [asyncio.create_task(client.generate(ask("Count.", seed=n))) for n in range(3)]
    await asyncio.sleep(0.2)
    os.kill(process.pid, signal.SIGKILL)
    ended = await asyncio.gather(*flying, return_exceptions=True)
    assert all(isinstance(error, InfrastructureError) and "gone" in str(error) for error in ended)
    with pytest.raises(InfrastructureError, match="gone"):
        await client.generate(ask())
    await asyncio.to_thread(process.start)
    assert await client.generate(ask()) == first
    pid = process.pid
    await asyncio.to_thread(process.stop)
    process.stop()
    assert not psutil.pid_exists(pid) and not Path(process.address).parent.exists()
    await client.close()


def test_a_model_that_cannot_be_loaded_is_told(tmp_path, model_folder):
    (tmp_path / "config.json").write_text("{}")
    process = EngineProcess(ModelFolder(tmp_path, content_digest(file_digests(tmp_path))), tmp_path, SETTINGS)
    with pytest.raises(UserError, match="cannot be loaded"):
        process.start()
    assert process.pid is None


def test_a_base_that_was_changed_is_not_loaded(tmp_path):
    (tmp_path / "config.json").write_text("{}")
    process = EngineProcess(ModelFolder(tmp_path, "as recorded"), tmp_path, SETTINGS)
    with pytest.raises(UserError, match=r"base model .*: it has digest \w+, not as recorded"):
        process.start()
    assert process.pid is None


@pytest.mark.chaos
def test_it_dies_with_its_parent(model_folder):
    code = (
        "import sys, time\nfrom pathlib import Path\nfrom rsi.config import ModelSettings\n"
        "from rsi.models.embedded.fetch import ModelFolder\nfrom rsi.models.embedded.process import EngineProcess\n"
        f"model = ModelFolder(Path({str(model_folder.path)!r}), {model_folder.digest!r})\n"
        "p = EngineProcess(model, Path('/nowhere'), ModelSettings(threads=1))\n"
        "p.start(); print(p.pid, p.address, flush=True); time.sleep(600)"
    )
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    pid, address = parent.stdout.readline().split()
    parent.kill()
    parent.wait()
    deadline = time.monotonic() + 20
    while psutil.pid_exists(int(pid)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not psutil.pid_exists(int(pid))
    assert not Path(address).parent.exists()  # a killed parent cannot sweep: the engine does


def test_neither_client_nor_process_import_torch():
    modules = "rsi.models.embedded.client, rsi.models.embedded.process, rsi.models.openai, rsi.models.replay"
    code = f"import sys, {modules}; print('torch' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "False"
