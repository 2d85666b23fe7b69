"""Closing, cancelling, and many at once.

Every coroutine function here is a check of sandbox_conformance."""

import asyncio

import pytest
from sandbox_checking import alive, descriptors, gone, opened, sleeper

from rsi.errors import InfrastructureError


async def closing_twice_is_fine_and_ends_everything(provider):
    marker, command = sleeper()
    sandbox = await provider.open()
    await sandbox.exec(f"setsid bash -c '{command}' &", 10)
    await sandbox.close()
    assert not alive(marker)
    await sandbox.close()
    for call in (sandbox.exec("true", 1), sandbox.put({"a": b""}), sandbox.get()):
        with pytest.raises(InfrastructureError):
            await call


async def closing_ends_a_running_command(provider):
    marker, command = sleeper()
    sandbox = await provider.open()
    running = asyncio.create_task(sandbox.exec(command, 30))
    while not alive(marker):
        await asyncio.sleep(0.01)
    await asyncio.wait_for(sandbox.close(), 5)
    with pytest.raises(InfrastructureError):
        await running
    assert not alive(marker)


async def a_cancelled_command_leaves_no_process_and_no_half_answer(provider):
    marker, command = sleeper()
    sandbox = await provider.open()
    running = asyncio.create_task(sandbox.exec(f"echo stale; {command}", 30))
    while not alive(marker):
        await asyncio.sleep(0.01)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert await gone(marker)
    with pytest.raises(InfrastructureError):
        await sandbox.exec("echo fresh", 5)
    await sandbox.close()


async def eight_at_once_do_not_meet(provider):
    async def one(number: int) -> None:
        async with opened(provider) as sandbox:
            await sandbox.put({"own": b"%d" % number})
            for _ in range(3):
                assert (await sandbox.exec("cat own; ls; ls /tmp; touch /tmp/seen", 20)).stdout.startswith(
                    f"{number}own\n"
                )
            assert (await sandbox.exec("ls /proc | grep -c '^[0-9]'", 20)).exit_code == 0
            assert await sandbox.get() == {"own": b"%d" % number}

    before = descriptors()
    await asyncio.gather(*(one(number) for number in range(8)))
    assert descriptors() <= before


async def concurrent_calls_on_one_sandbox_take_turns(provider):
    async with opened(provider) as sandbox:
        results = await asyncio.gather(*(sandbox.exec(f"sleep 0.02; echo {n}", 10) for n in range(5)))
        assert [result.stdout for result in results] == [f"{n}\n" for n in range(5)]
