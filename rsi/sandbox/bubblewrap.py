"""The provider of bubblewrap sandboxes: user namespaces on this machine's kernel and its /usr. The laptop default.

It must not know what its sandboxes are used for.
"""

from collections.abc import Mapping

from rsi.errors import InfrastructureError
from rsi.sandbox import cgroup, host, launch
from rsi.sandbox.running import BubblewrapSandbox

_SPARE = 32  # processes a control group allows beyond the limit of commands: the supervisor's own


class Bubblewrap:
    """The provider. Cheap to make; binary, filter and control groups are found once a process.

    Raises InfrastructureError where bubblewrap or libseccomp is missing."""

    def __init__(self, limits: host.Limits | None = None) -> None:
        found = host.binary()
        if found is None:
            raise InfrastructureError("bubblewrap is missing")
        if missing := host.missing_tools():
            raise InfrastructureError(f"/usr/bin lacks {' and '.join(missing)}, which every sandbox needs")
        self._binary, self._limits = found, limits or host.Limits()
        self._identity = host.identity(self._binary, self._limits, launch.SUPERVISOR)

    @property
    def identity(self) -> str:
        return self._identity

    @property
    def limits(self) -> Mapping[str, str]:
        """See rsi.ports.SandboxProvider."""
        parents, limits = cgroup.delegated(), self._limits
        tree = f"control group v{parents.version}"
        return {
            "memory": f"{limits.memory} {limits.counted}, rlimit per process"
            + (f"; {limits.tree_memory} bytes in all, {tree}" if parents.memory else "; none for the sum"),
            "processes": f"{limits.processes}, rlimit per sandbox" + (f" and {tree}" if parents.pids else ""),
            "cpu": f"{limits.cpu_seconds} s, rlimit per process",
            "files": f"tmpfs: /task {limits.task}, /tmp {limits.tmp}, /dev/shm {limits.shm} bytes",
            "network": "none, own namespace",
            "root": "dropped" if host.must_drop() else "was never held",
        }

    async def open(self) -> BubblewrapSandbox:
        """Start a sandbox, about 20 ms. Raises InfrastructureError; what was started is then ended."""
        parents, limits = cgroup.delegated(), self._limits
        group = None
        try:
            if parents.folders:
                group = cgroup.Group(parents, limits.tree_memory, limits.processes + _SPARE)
            sandbox = BubblewrapSandbox(launch.start(self._binary, limits), group)
        except (OSError, InfrastructureError) as error:
            if group:
                group.remove()
            raise InfrastructureError(str(error)) from None
        try:
            await sandbox.start()
        except BaseException:
            await sandbox.close()
            raise
        return sandbox
