"""Bounded reading of what a hostile command prints. It must not know what is printed, nor why."""

import asyncio
import contextlib
import fcntl
import os
import struct
import termios

CHUNK = 1 << 16


class Output:
    """What a command prints into one pipe: kept up to `limit` bytes, read and dropped beyond."""

    def __init__(self, fd: int, limit: int) -> None:
        self.fd, self.limit, self.kept, self.total = fd, limit, bytearray(), 0

    def pull(self, most: int = CHUNK) -> None:
        with contextlib.suppress(BlockingIOError):
            chunk = os.read(self.fd, most)
            self.total += len(chunk)
            self.kept += chunk[: self.limit - len(self.kept)]
            if not chunk:  # all writers are gone; a closed pipe is readable for ever
                asyncio.get_running_loop().remove_reader(self.fd)

    def rest(self) -> None:
        """Read what stood in the pipe when the command ended, and not what a background process adds meanwhile."""
        waiting = struct.unpack("i", fcntl.ioctl(self.fd, termios.FIONREAD, b"\0" * 4))[0]
        while waiting > 0:
            before = self.total
            self.pull(min(CHUNK, waiting))
            if self.total == before:
                return
            waiting -= self.total - before

    @property
    def text(self) -> str:
        return self.kept.decode(errors="replace")
