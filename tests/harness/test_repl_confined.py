"""The interpreter where a model's code runs: in bubblewrap."""

import shutil

import pytest

from rsi.harness.repl import Calls, Interpreter, Masked
from rsi.sandbox.host import binary

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(binary() is None or not shutil.which("python3", path="/usr/bin"), reason="no bubblewrap"),
]


async def test_a_shell_command_that_times_out_takes_the_interpreter_with_it_and_that_is_said():
    from rsi.sandbox.bubblewrap import Bubblewrap

    sandbox, masked = await Bubblewrap().open(), Masked()
    try:
        repl = Interpreter(sandbox, Calls((), masked), masked)
        await repl.run("kept = 1\nopen('made', 'w').write('x')", 20)
        assert (await repl.run("kept + 1", 20)).output == "2\n"
        assert (await sandbox.exec("sleep 9", 0.2)).timed_out
        lost = await repl.run("kept", 20)
        assert lost.failed and "died" in lost.output and "lost: kept" in lost.output
        assert (await repl.run("print(open('made').read())", 20)).output == "x\n", "files stay"
        hung = await repl.run("while True:\n    try:\n        pass\n    except BaseException:\n        pass", 0.5)
        assert "did not end in time" in hung.output
        bomb = await repl.run("x = 'a' * 3_000_000_000", 20)
        assert bomb.failed and ("MemoryError" in bomb.output or "died" in bomb.output)
        assert (await repl.run("1 + 1", 20)).output == "2\n"
    finally:
        await sandbox.close()
