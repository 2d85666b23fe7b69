"""What an agent used up or broke is its own failure: commands fail, and the workspace can still be taken out. Only what
comes from outside its sandbox is an error of infrastructure."""

import asyncio
import os
import signal
from pathlib import Path

import pytest
from sandbox_checking import opened
from sandbox_ends import ENDS, EXHAUSTING

from rsi.errors import InfrastructureError, TamperError
from rsi.sandbox import cgroup, host
from rsi.sandbox.bubblewrap import Bubblewrap
from rsi.types import CallsCheck, ProgramCheck, Recipe, Task, TaskKey
from rsi.verify.checks import CheckVerifier

SMALL = host.Limits(memory=60 << 20, task=4 << 20, tmp=4 << 20, shm=4 << 20)
TINY = host.Limits(memory=24 << 20, task=1 << 20, tmp=1 << 20, shm=1 << 20)
needs_group = pytest.mark.skipif(not cgroup.delegated().memory, reason="no control group is delegated here")


async def is_scored(provider, commands, timeout=0.4) -> list[int]:
    """Play the commands; what the agent made before is taken out, unless it was left as no workspace may be."""
    async with opened(provider) as sandbox:
        await sandbox.put({"made/before": b"kept"})
        codes = [(await sandbox.exec(command, timeout)).exit_code for command in commands]
        try:
            await sandbox.get()
        except TamperError:
            codes.append(-1)
        return codes


@pytest.mark.parametrize("name", ENDS)
async def test_an_agent_that_ends_its_own_sandbox_is_scored(name):
    codes = await is_scored(Bubblewrap(SMALL), ENDS[name])
    assert len(codes) >= len(ENDS[name])


@needs_group
async def test_memory_that_no_process_holds_ends_the_sandbox_and_nothing_else():
    """Empty files take the kernel's memory, and keep it when their maker has died."""
    async with opened(Bubblewrap(TINY)) as sandbox:
        await sandbox.put({"kept": b"x"})
        await sandbox.exec("rm -rf /tmp/*", 5)
        results = [await sandbox.exec(command, 5) for command in EXHAUSTING]
        assert sandbox._group.ran_out() == "its"
        assert results[-1].exit_code == 137 and "memory was used up" in results[-1].stderr
        assert await sandbox.get() == {"kept": b"x"}


async def test_a_first_process_that_is_killed_from_outside_is_infrastructure():
    async with opened(Bubblewrap(TINY)) as sandbox:
        os.kill(sandbox._child, signal.SIGKILL)
        with pytest.raises(InfrastructureError, match="gone"):
            await sandbox.exec("echo on", 5)


async def test_a_first_process_that_ends_by_itself_is_the_commands_failure():
    """No command is known that makes it end so; one that did would fail, and what was made before is still judged."""
    async with opened(Bubblewrap(TINY)) as sandbox:
        await sandbox.put({"kept": b"x"})
        with Path(os.devnull).open("wb") as nowhere:
            os.dup2(nowhere.fileno(), sandbox._started.stdin)  # it reads the end of its requests
        results = [await sandbox.exec("echo on", 5) for _ in range(2)]
        assert [result.exit_code for result in results] == [137, 137]
        assert "its shell ended with 0" in results[1].stderr
        assert await sandbox.get() == {"kept": b"x"}


@pytest.mark.parametrize(
    ("folder", "said"),
    [
        ({"memory.events": "oom 0\noom_kill 0\n"}, ""),
        ({"memory.events": "low 3\nmax 9\noom 2\noom_kill 1\noom_group_kill 0\n"}, "its"),
        ({"memory.events": "oom 0\noom_kill 1\n"}, "this machine's"),
        ({"memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n"}, ""),
        (
            {
                "memory.oom_control": "under_oom 0\noom_kill 2\n",
                "memory.max_usage_in_bytes": "99900000\n",
                "memory.limit_in_bytes": "100000000\n",
            },
            "its",
        ),
        (
            {
                "memory.oom_control": "oom_kill 2\n",
                "memory.max_usage_in_bytes": "5000000\n",
                "memory.limit_in_bytes": "100000000\n",
            },
            "this machine's",
        ),
        ({"memory.events": "\n\nnonsense\noom_kill x\n"}, ""),
        ({}, ""),
    ],
)
def test_whose_memory_was_used_up_is_read_from_the_kernel(folder, said, tmp_path):
    group = cgroup.Group(cgroup.Parents(0), 1, 1)
    group.folders = [tmp_path]
    for name, text in folder.items():
        (tmp_path / name).write_text(text)
    assert group.ran_out() == said


async def test_a_command_that_the_machine_had_no_memory_for_is_infrastructure(monkeypatch):
    monkeypatch.setattr(cgroup.Group, "ran_out", lambda _: "this machine's")
    async with opened(Bubblewrap()) as sandbox:
        if not sandbox._group:
            pytest.skip("no control group is delegated here")
        assert (await sandbox.exec("echo on", 5)).stdout == "on\n"
        with pytest.raises(InfrastructureError, match="this machine's memory"):
            await sandbox.exec("kill -9 $$", 5)


TASK = Task(id="t", bank="b", recipe=Recipe(family="f"), split="train", instance=1, request="Do it.")
EATERS = {
    "files": "import os\nn = 0\nwhile True:\n    n += 1\n    os.mkdir(f'/tmp/{n}')\n",
    "a list": "x = []\nwhile True:\n    x.append(bytearray(1 << 20))\n",
    "shared memory": "import ctypes\nc = ctypes.CDLL(None)\nc.shmat.restype = ctypes.c_void_p\nwhile True:\n"
    "    a = c.shmat(c.shmget(0, 1 << 22, 0o1600), None, 0)\n"
    "    ctypes.memset(ctypes.c_void_p(a), 1, 1 << 22)\n    c.shmdt(ctypes.c_void_p(a))\n",
    "the supervisor": "import os\nos.kill(-1, 9)\n",
    "itself": "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n",
}


@pytest.mark.parametrize("name", EATERS)
async def test_a_solution_that_breaks_the_verifiers_sandbox_fails(name):
    calls = CallsCheck(calls=("f(1)",), expected=('{"value": 1}',))
    program = ProgramCheck(command="python3 solution.py", expected="1")
    verifier = CheckVerifier(Bubblewrap(SMALL))
    for check in (calls, program):
        key = TaskKey(task_id="t", reference="true", checks=(check,))
        score = await verifier.verify(TASK, key, "", {"solution.py": EATERS[name].encode()})
        assert (score.reward, score.passed) == (0.0, False) and score.detail


async def test_a_workspace_that_cannot_be_copied_fails():
    """It has no room in the verifier's sandbox: none of the machine's, and none of the operator's doing."""
    key = TaskKey(task_id="t", reference="true", checks=(ProgramCheck(command="true", expected=""),))
    files = {str(n): b"x" for n in range(2000)}  # a page each
    score = await CheckVerifier(Bubblewrap(SMALL)).verify(TASK, key, "", files)
    assert not score.passed and "copied" in score.detail


@pytest.mark.docker
def test_containers_that_end_by_their_own_doing_are_scored():
    from rsi.sandbox.docker import Docker

    async def play() -> None:
        for commands in (*ENDS.values(), EXHAUSTING):
            await is_scored(provider, commands, 5)

    try:
        provider = Docker(SMALL)
    except InfrastructureError as error:
        pytest.skip(str(error))
    asyncio.run(play())
