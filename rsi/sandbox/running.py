"""One running bubblewrap sandbox: commands through its supervisor, files through a descriptor of its workspace.

The descriptor is taken before the first command and read after the last process has died, so nothing inside can forge
what comes out. It must not know what its commands are for, nor how a sandbox is made.
"""

import asyncio
import contextlib
import json
import os
import secrets
import select
import signal
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from rsi.errors import InfrastructureError
from rsi.ports import ExecResult, Workspace
from rsi.sandbox import cgroup, host, launch, workspace
from rsi.sandbox.output import CHUNK, Output

T = TypeVar("T")
_START = 20.0  # seconds; a start takes 0.02 s on an idle machine
_KILLS, _BETWEEN = 20, 0.2  # how often what outlives its time is killed, seconds apart; then the whole sandbox is
_STRAGGLE = 25  # looks, 10 ms apart, until what still runs counts as left running
_END = 10.0  # seconds for killed processes to be gone; a millisecond is usual
_LONGEST = 128 * 1024 - 1  # bytes of one argument that Linux takes
_TIMED_OUT, _KILLED, _NOT_RUN = 124, 137, 126


class _EndedByItself(Exception):
    """Process 1 is gone, and nobody in here has ended it."""


def _as_owner(root: int, work: Callable[[int], T]) -> T:
    """Run `work` on the workspace's descriptor, which is closed afterwards, as the user who owns the workspace."""
    try:
        with workspace.acting_as(launch.NOBODY if host.must_drop() else None):
            return work(root)
    finally:
        os.close(root)


class BubblewrapSandbox:
    """One sandbox. Made by `Bubblewrap.open`. For one event loop; concurrent calls take turns."""

    what = "bubblewrap"  # in errors

    def __init__(self, started: launch.Started, group: cgroup.Group | None) -> None:
        self._started, self._group = started, group
        self._turn = asyncio.Lock()
        self._fds = [started.stdin, started.stdout, started.stderr, started.info]
        self._status = asyncio.StreamReader()
        self._transport: asyncio.ReadTransport | None = None
        self._pidfd: int | None = None
        self._child = 0  # the host's pid of process 1
        self._root: int | None = None
        self._ended = ""  # why nothing can run any more
        self._closed = False

    async def start(self) -> None:
        """Wait for the supervisor, then take hold of its process and of the workspace."""
        loop = asyncio.get_running_loop()
        for fd in (self._started.stdin, self._started.stdout, self._started.stderr):
            os.set_blocking(fd, False)
        self._transport, _ = await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(self._status), os.fdopen(self._started.status, "rb", 0)
        )
        try:
            line = await asyncio.wait_for(self._status.readline(), _START)
        except TimeoutError:
            raise InfrastructureError(f"{self.what} did not start within {_START:.0f} s") from None
        if line != b"ready\n":
            said = Output(self._started.stderr, 2000)
            said.rest()
            raise InfrastructureError(f"{self.what} did not start: {said.text.strip() or 'it said nothing'}")
        try:
            child = json.loads(os.read(self._started.info, CHUNK))["child-pid"]
            self._child = int(child)
            self._pidfd = os.pidfd_open(child)
            if self._group:
                self._group.add(child)
            self._root = os.open(f"/proc/{child}/root{workspace.ROOT}", os.O_RDONLY | os.O_DIRECTORY)
        except (OSError, ValueError, KeyError) as error:
            raise InfrastructureError(f"{self.what} started, but its workspace cannot be reached: {error}") from None

    async def exec(self, command: str, timeout: float, limit: int = 100_000) -> ExecResult:
        """See rsi.ports.Sandbox. A command that times out ends every process of the sandbox, earlier ones' background
        processes included. A command whose processes do not end ends the sandbox, and so does one that leaves process 1
        no memory: that is the command's doing, so later commands exit 137 at once, and `get` still works."""
        text = command.encode(errors="replace")
        async with self._turn:
            if self._ended:
                return ExecResult(_KILLED, "", f"the sandbox has ended: {self._ended}\n")
            self._require_open()
            if b"\0" in text or len(text) > _LONGEST:
                return ExecResult(_NOT_RUN, "", "bash: the command is too long or holds a zero byte\n")
            return await self._run(text, timeout, limit)

    async def _run(self, command: bytes, timeout: float, limit: int) -> ExecResult:
        loop = asyncio.get_running_loop()
        out, err = Output(self._started.stdout, limit), Output(self._started.stderr, limit)
        for output in (out, err):
            loop.add_reader(output.fd, output.pull)
        try:
            code, timed_out = await self._timed(command, max(timeout, 0.01))
        except TimeoutError:
            self._ended, code, timed_out = "a command outlived its timeout", _KILLED, True
            self._kill_now()
            await asyncio.to_thread(self._wait_dead)
        except _EndedByItself:
            self._ended, code, timed_out = await asyncio.to_thread(self._why_ended), _KILLED, False
            self._kill_now()
        except BaseException:
            self._kill_now()  # cancelled: its answer would be taken for the next command's
            self._closed = True
            raise
        finally:
            for output in (out, err):
                loop.remove_reader(output.fd)
        for output in (out, err):
            output.rest()
        if code == _KILLED and self._group and self._group.ran_out() == "this machine's":
            raise InfrastructureError("this machine's memory was used up: its kernel ended a command")
        cut = max(out.total, err.total) > limit
        return ExecResult(_TIMED_OUT if timed_out else code, out.text, err.text, timed_out, cut)

    async def _timed(self, command: bytes, timeout: float) -> tuple[int, bool]:
        """A command's exit status, and whether its time ran out. TimeoutError where it does not end even then."""
        nonce = secrets.token_hex(8).encode()
        await self._send(b"%s\0%s\0" % (nonce, command))
        with contextlib.suppress(TimeoutError):
            return await asyncio.wait_for(self._answer(nonce), timeout), False
        for _ in range(_KILLS):
            for child in self._children():
                self._kill_child(child)
            with contextlib.suppress(TimeoutError):
                code = await asyncio.wait_for(self._answer(nonce), _BETWEEN)
                return code, code == _KILLED  # else it had just ended by itself
        raise TimeoutError

    async def _send(self, request: bytes) -> None:
        left = memoryview(request)
        while left:
            try:
                left = left[os.write(self._started.stdin, left) :]
            except BlockingIOError:  # the pipe is full: bash reads a byte at a time
                await asyncio.sleep(0.002)
            except BrokenPipeError:
                return

    async def _answer(self, nonce: bytes) -> int:
        while line := await self._status.readline():
            if line.startswith(nonce + b" "):
                return int(line[len(nonce) + 1 :])
        raise _EndedByItself

    def _why_ended(self) -> str:
        """What inside has ended process 1. Raises InfrastructureError where it came from outside: nothing inside can
        kill process 1 but by using up the memory of its group, of which the kernel keeps count."""
        code, out_of_memory = self._exit()
        if out_of_memory:
            return "its memory was used up"
        if code in (None, -signal.SIGKILL, _KILLED):
            said = "" if code is None else f" with {code}"
            raise InfrastructureError(f"the sandbox is gone: {self.what} ended{said}")
        return f"its shell ended with {code}"

    def _exit(self) -> tuple[int | None, bool]:
        """The exit status of process 1, None where it cannot be learnt, and whether its group had no memory left."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._started.process.wait(_END)
        return self._started.process.poll(), self._group is not None and self._group.ran_out() == "its"

    async def put(self, files: Mapping[str, bytes]) -> None:
        """See rsi.ports.Sandbox, and `workspace.write_files` for the errors."""
        async with self._turn:
            await asyncio.to_thread(_as_owner, self._root_again(), lambda root: workspace.write_files(root, files))

    async def get(self, limit: int = 16_000_000) -> Workspace:
        """See rsi.ports.Sandbox, and `workspace.read_files` for what is refused. May be called again."""
        async with self._turn:
            self._require_open()
            outlived = await self._outliving()
            root = self._root_again()
            self._kill_now()
            self._ended = self._ended or "its workspace was taken out"
            found = await asyncio.to_thread(_as_owner, root, lambda root: self._read(root, limit))
            found.outlived = outlived
            return found

    async def _outliving(self) -> int:
        """How many processes run although no command does. Counted from outside, by the kernel's list of the children
        of process 1, to which orphans fall: nothing inside can forge it. 0 where this kernel keeps no such list."""
        for _ in range(_STRAGGLE):
            left = self._children()
            if self._ended or not left:
                return 0
            await asyncio.sleep(0.01)  # an ended command's last children, a process substitution's for one
        return len(left)

    def _children(self) -> list[int]:
        """The host's pids of the children of process 1: a command, and orphans. Empty where the kernel lists none."""
        with contextlib.suppress(OSError):
            return [int(pid) for pid in Path(f"/proc/{self._child}/task/{self._child}/children").read_text().split()]
        return []

    def _kill_child(self, pid: int) -> None:
        """Kill a child of process 1. Its number may be another process's by now, so it is looked at again once held."""
        with contextlib.suppress(OSError):
            handle = os.pidfd_open(pid)
            try:
                if pid in self._children():
                    signal.pidfd_send_signal(handle, signal.SIGKILL)
            finally:
                os.close(handle)

    def _read(self, root: int, limit: int) -> Workspace:
        self._wait_dead()
        try:
            return workspace.read_files(root, limit)
        except OSError as error:
            raise InfrastructureError(f"the workspace cannot be read: {error}") from None

    def _require_open(self) -> int:
        if self._closed or self._root is None:
            raise InfrastructureError("the sandbox is closed")
        return self._root

    def _root_again(self) -> int:
        """A descriptor of its own for a thread, which may outlive the call and this sandbox where it is cancelled."""
        return os.dup(self._require_open())

    def _kill_now(self) -> None:
        if self._pidfd is not None and self._fds:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)
        self._started.process.kill()

    def _wait_dead(self) -> None:
        """Process 1 of a pid namespace is reported dead only after all the others are. Raises InfrastructureError."""
        if not self._dead(_END):
            raise InfrastructureError("the sandbox's processes do not end")

    def _dead(self, seconds: float) -> bool:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._started.process.wait(seconds)
            if self._pidfd is None:
                return True
            poll = select.poll()
            poll.register(self._pidfd, select.POLLIN)
            return bool(poll.poll(seconds * 1000))
        return False

    async def close(self) -> None:
        """See rsi.ports.Sandbox."""
        self._kill_now()
        async with self._turn:  # a command that still runs has just been ended
            self._closed = True
            fds, self._fds = self._fds, []
            if not fds:
                return
            if self._transport:
                self._transport.close()
            else:
                os.close(self._started.status)
            if self._started.process.returncode is not None:  # `get` has waited already
                self._release(fds)
            else:
                await asyncio.shield(asyncio.to_thread(self._release, fds))

    def _release(self, fds: list[int]) -> None:
        self._dead(_END)
        for fd in (*fds, self._root, self._pidfd):
            if fd is not None:
                os.close(fd)
        self._pidfd = None
        if self._group:
            self._group.remove()
