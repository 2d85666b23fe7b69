"""What a hostile command cannot use up.

Every coroutine function here is a check of sandbox_conformance."""

import time

from sandbox_checking import opened, python, run


async def a_flood_is_cut(provider):
    begun = time.monotonic()
    async with opened(provider) as sandbox:
        result = await sandbox.exec("yes | head -c 500000000; echo end >&2", 30, limit=100_000)
        quiet = await sandbox.exec("echo quiet", 10)
    assert (len(result.stdout), result.stderr, result.truncated, result.exit_code) == (100_000, "end\n", True, 0)
    assert (quiet.stdout, quiet.truncated) == ("quiet\n", False)
    assert time.monotonic() - begun < 15


async def a_fork_bomb_is_contained(provider):
    async with opened(provider) as sandbox:
        begun = time.monotonic()
        await sandbox.exec("f() { f | f & }; f; sleep 100", 0.5)
        await sandbox.exec("echo on", 3)
        assert time.monotonic() - begun < 8
        assert (await sandbox.exec("echo after", 5)).stdout == "after\n"


async def a_fork_bomb_in_the_background_cannot_take_the_sandbox_down(provider):
    async with opened(provider) as sandbox:
        await sandbox.exec("f() { f | f & }; f", 1)
        for _ in range(4):
            last = await sandbox.exec("echo on", 1)
        assert last.stdout == "on\n"


async def processes_are_counted(provider):
    """The bound of a sandbox's own, below that of any control group."""
    code = """
import os, time
made = 0
try:
    while made < 500:
        if os.fork() == 0:
            time.sleep(60)
        made += 1
except BlockingIOError:
    print(made)
"""
    result = await python(provider, code)
    assert 20 < int(result.stdout) <= 64


async def three_gigabytes_are_refused(provider):
    result = await run(provider, "dd if=/dev/zero of=/dev/null bs=3G count=1; echo $?; head -c 9 /dev/zero | wc -c", 20)
    assert "memory exhausted" in result.stderr
    assert result.stdout == "1\n9\n"


async def temporary_file_systems_are_bounded(provider):
    for folder in ("/task", "/tmp", "/dev/shm"):
        async with opened(provider) as sandbox:
            command = f"for i in 1 2 3 4 5; do head -c 50000000 /dev/zero > {folder}/$i || exit 9; done"
            result = await sandbox.exec(command, 20)
            assert result.exit_code == 9, folder
            assert "No space left" in result.stderr


async def one_file_is_bounded(provider):
    result = await run(provider, "truncate -s 1T /tmp/sparse; stat -c %s /tmp/sparse")
    assert int(result.stdout) < 1 << 30
