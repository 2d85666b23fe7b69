"""Four named pipes between the host and a container's supervisor, gone from the file system once both hold them.

Commands through them cost 2 ms, a `docker exec` 58. It must not know what is said through them.
"""

import os
import shutil
import tempfile
from pathlib import Path

from rsi.sandbox.docker import lease

_PREFIX = "rsi-docker-"
NAMES = ("stdin", "stdout", "stderr", "status")


def sweep() -> None:
    """Remove the folders of dead owners, who were killed while a container started."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        if lease.dead(":".join(folder.name.removeprefix(_PREFIX).split("_")[:3])):
            shutil.rmtree(folder, ignore_errors=True)


class Pipes:
    """A private folder with the pipes, and the host's ends."""

    def __init__(self) -> None:
        self.root = Path(
            tempfile.mkdtemp(prefix=f"{_PREFIX}{lease.mine().replace(':', '_')}_")
        )  # 0700: nobody else comes to the pipes below
        self.folder = self.root / "pipes"
        self.fds: dict[str, int] = {}
        try:
            self.folder.mkdir()
            self.folder.chmod(0o755)
            for name in NAMES:
                os.mkfifo(self.folder / name)
                (self.folder / name).chmod(0o666)
                # Both ways for stdin: opening it to write alone fails until the container reads.
                way = os.O_RDWR if name == "stdin" else os.O_RDONLY
                self.fds[name] = os.open(self.folder / name, way | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            self.close()
            raise

    def hide(self) -> None:
        """Unlink the pipes: whoever has them open keeps them, and nobody else, the agent above all, can open them."""
        shutil.rmtree(self.root, ignore_errors=True)

    def close(self) -> None:
        for fd in self.fds.values():
            os.close(fd)
        self.hide()
