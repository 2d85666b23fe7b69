"""Start a local server that ends when we do, even by kill -9. Knows nothing of what it starts.

Run as a script it ties itself to its parent, then becomes the command. That is safer than `preexec_fn`, which can
deadlock in a process with threads.
"""

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

PR_SET_PDEATHSIG = 1


def start(
    command: Sequence[str], env: Mapping[str, str], log: Path, death: signal.Signals = signal.SIGTERM
) -> subprocess.Popen[bytes]:
    """Start `command` in a session of its own, its output appended to `log`.

    On Linux the kernel sends it `death` when the calling *thread* ends, so call from the main thread.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    wrapper = [sys.executable, __file__, str(os.getpid()), str(int(death)), *command]
    with log.open("ab") as output:
        return subprocess.Popen(
            wrapper,
            env=dict(env),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def end(process: subprocess.Popen[bytes], seconds: float = 10.0) -> None:
    """End the process and everything in its group: asked first, killed after `seconds`. May be called twice."""
    _signal_group(process.pid, signal.SIGTERM)
    with suppress(subprocess.TimeoutExpired):
        process.wait(seconds)
    _signal_group(process.pid, signal.SIGKILL)
    process.wait()


def _signal_group(group: int, number: signal.Signals) -> None:
    # A group outlives its leader while it has members; an empty one is gone, and its id is not given out again while
    # the leader is unreaped, nor soon after.
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def become(parent: int, death: int, command: Sequence[str]) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, death)
    if os.getppid() != parent:  # it died before the kernel knew of the tie
        sys.exit(1)
    os.execvp(command[0], list(command))


if __name__ == "__main__":
    become(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
