"""What goes in and comes out of a command, and what becomes of it when its time is up.

Every coroutine function here is a check of sandbox_conformance."""

import time

from sandbox_checking import alive, gone, opened, run, sleeper

from rsi.ports import ExecResult


async def output_and_error_are_separate(provider):
    result = await run(provider, "echo out; echo err >&2")
    assert result == ExecResult(0, "out\n", "err\n")


async def exit_codes_come_back(provider):
    async with opened(provider) as sandbox:
        codes = [(await sandbox.exec(c, 10)).exit_code for c in ("true", "exit 3", "nothing-such", "kill -9 $$", "(")]
    assert codes == [0, 3, 127, 137, 2]


async def a_command_killed_or_exiting_124_is_not_a_timeout(provider):
    async with opened(provider) as sandbox:
        for command in ("exit 124", "kill -9 $$", "exit 125"):
            assert not (await sandbox.exec(command, 10)).timed_out


async def commands_start_in_task_and_share_only_files(provider):
    async with opened(provider) as sandbox:
        await sandbox.exec("echo kept > f; export LOST=1; mkdir d; cd d; umask 0", 10)
        result = await sandbox.exec("pwd; cat f; echo ${LOST-unset}", 10)
    assert result.stdout == "/task\nkept\nunset\n"


async def standard_input_is_empty(provider):
    async with opened(provider) as sandbox:
        assert (await sandbox.exec("cat; read x; echo $?", 5)).stdout == "1\n"
        assert (await sandbox.exec("echo next", 5)).stdout == "next\n"


async def any_text_is_a_command(provider):
    hostile = [
        "echo 'a\n$(b)' \"`echo c`\" # \\",
        "",
        "\0",
        "echo \0",
        "x" * 200_000,
        "echo \ud800",
        "-c",
        "exit 0\n\n",
    ]
    async with opened(provider) as sandbox:
        results = [await sandbox.exec(command, 10) for command in hostile]
        assert (await sandbox.exec("echo fine", 10)).stdout == "fine\n"
    assert results[0].stdout == "a\n$(b) c\n"
    assert [r.exit_code for r in results[1:5]] == [0, 126, 126, 126]


async def a_long_command_runs(provider):
    result = await run(provider, f"echo {'x' * 100_000} | wc -c")
    assert result.stdout == "100001\n"


async def output_that_is_not_utf8_is_replaced(provider):
    assert (await run(provider, r"printf 'a\xff\xfeb'")).stdout == "a\ufffd\ufffdb"


async def a_timeout_exits_124_and_the_sandbox_stays(provider):
    async with opened(provider) as sandbox:
        begun = time.monotonic()
        result = await sandbox.exec("echo before; sleep 100", 0.3)
        assert 0.3 <= time.monotonic() - begun < 2.3
        assert (result.exit_code, result.timed_out, result.stdout) == (124, True, "before\n")
        assert (await sandbox.exec("echo after", 10)).stdout == "after\n"


async def a_timeout_ends_even_what_left_the_process_group(provider):
    marker, command = sleeper()
    async with opened(provider) as sandbox:
        result = await sandbox.exec(f"setsid bash -c '{command}' & sleep 100", 0.2)
        assert result.timed_out
        assert await gone(marker)


async def a_command_that_ignores_the_signal_ends(provider):
    async with opened(provider) as sandbox:
        begun = time.monotonic()
        assert (await sandbox.exec("trap '' TERM; while :; do sleep 1; done", 0.2)).timed_out
        assert time.monotonic() - begun < 2.2
        assert (await sandbox.exec("echo after", 10)).stdout == "after\n"


async def a_background_child_that_holds_the_output_does_not_hang(provider):
    marker, command = sleeper()
    async with opened(provider) as sandbox:
        begun = time.monotonic()
        result = await sandbox.exec(f"({command}) & echo done", 10)
        assert (result.stdout, result.exit_code) == ("done\n", 0)
        assert time.monotonic() - begun < 5
        assert alive(marker)
    assert await gone(marker)


async def a_command_cannot_stop_its_timer(provider):
    marker, command = sleeper()
    async with opened(provider) as sandbox:
        result = await sandbox.exec(f"echo x > f; kill -STOP $PPID 1 -1; kill -STOP $$; {command}", 0.1)
        assert (result.exit_code, result.timed_out) == (124, True)
        assert await gone(marker)
        assert (await sandbox.exec("cat f", 10)).stdout == "x\n"


async def no_signal_to_process_1_ends_the_sandbox(provider):
    async with opened(provider) as sandbox:
        for signal in ("INT", "TERM", "HUP", "QUIT", "PIPE", "CHLD", "USR1", "STOP", "KILL", "34"):
            await sandbox.exec(f"kill -{signal} 1; kill -{signal} 0; kill -{signal} $$", 0.5)
        assert (await sandbox.exec("echo on", 10)).stdout == "on\n"
