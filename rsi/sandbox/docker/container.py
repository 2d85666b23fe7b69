"""One running container. Its supervisor speaks as bubblewrap's does, so commands and files go the same ways.

Files are read through /proc/PID/root after process 1, and with it every other, has died: /task is a tmpfs, which
Docker's archives do not hold, and no program of the container is trusted to pack it. It must not know what runs inside.
"""

import asyncio
import time
from typing import Any

from rsi.sandbox.running import BubblewrapSandbox

_LOOKS = 50  # a tenth of a second apart, until the engine has noticed the end of a container


class Contained:
    """launch.Process where bubblewrap has its own. A container's process 1 is ended and awaited by its pidfd."""

    def __init__(self, pid: int) -> None:
        self.pid = pid

    @property
    def returncode(self) -> None:
        return None  # not a child of this process: never learnt

    def poll(self) -> None:
        return None

    def kill(self) -> None:
        return None

    def wait(self, timeout: float | None = None) -> int:
        return 0


class DockerSandbox(BubblewrapSandbox):
    """Made by `Docker.open`."""

    what = "the container"
    container: Any = None
    container_id = ""

    def _exit(self) -> tuple[int | None, bool]:
        """See BubblewrapSandbox: here the engine knows, a moment later."""
        from docker.errors import DockerException
        from requests.exceptions import RequestException

        for _ in range(_LOOKS):
            try:
                self.container.reload()
            except (DockerException, RequestException):
                break
            state = self.container.attrs["State"]
            if not state["Running"]:
                return int(state["ExitCode"]), bool(state["OOMKilled"])
            time.sleep(0.1)
        return None, False

    async def close(self) -> None:
        """See rsi.ports.Sandbox. The container is gone when this returns, cancelled or not it will be."""
        await super().close()
        container, self.container = self.container, None
        if container is not None:
            await asyncio.shield(asyncio.to_thread(remove, container))


def remove(container: Any) -> None:
    """Remove a container with all that is its own. Never raises: what is left is swept by its lease."""
    from docker.errors import DockerException
    from requests.exceptions import RequestException

    try:
        container.remove(force=True, v=True)
    except (DockerException, RequestException):
        return
