"""The provider of Docker sandboxes: a container each, no network, read-only root, no capability, not root.

It must not know what its sandboxes are used for.
"""

import asyncio
import json
import os
from collections.abc import Mapping
from typing import Any

from rsi.errors import InfrastructureError, UserError
from rsi.ids import digest
from rsi.sandbox import host, launch, seccomp
from rsi.sandbox.docker import lease, pipes
from rsi.sandbox.docker.container import Contained, DockerSandbox, remove
from rsi.sandbox.docker.pipes import Pipes

IMAGE = "rsi-sandbox:1"
_SCRIPT = 'exec </pipes/stdin >/pipes/stdout 2>/pipes/stderr 9>/pipes/status; set -- 9 "$@"\n' + launch.SUPERVISOR


class Docker:
    """The provider. Raises InfrastructureError where docker-py, the engine or the image is missing, or where this
    process may not reach into the engine's containers (it must be root on the engine's own machine); UserError where
    the environment asks for a runtime that the engine has not."""

    def __init__(self, limits: host.Limits | None = None, image: str = IMAGE) -> None:
        try:
            import docker
            from docker.errors import DockerException, ImageNotFound
        except ImportError:
            raise InfrastructureError("docker-py is missing; `pip install rsi[docker]`") from None
        if os.geteuid() != 0:
            raise InfrastructureError("Docker sandboxes need root on the engine's machine, to read their workspaces")
        self._limits = limits or host.Limits()
        try:
            self._client: Any = docker.from_env(timeout=60)
            version = self._client.version()["Version"]
            self._image = self._client.images.get(image).id
            self._runtime = _runtime(self._client.info().get("Runtimes", {}))
            lease.sweep(self._client)
            pipes.sweep()
        except ImageNotFound:
            raise InfrastructureError(f"no image {image}; make it by `python -m infra.sandbox_image`") from None
        except DockerException as error:
            raise InfrastructureError(f"no Docker engine answers: {error}") from None
        made_of = digest((self._image, repr(self._limits), _SCRIPT, seccomp.profile()))
        self._identity = f"docker-{version}/{self._runtime}/{made_of[:16]}"

    @property
    def identity(self) -> str:
        return self._identity

    @property
    def limits(self) -> Mapping[str, str]:
        """See rsi.ports.SandboxProvider."""
        limits = self._limits
        return {
            "memory": f"{limits.memory} bytes, rlimit per process; {limits.tree_memory} bytes in all, Docker",
            "processes": f"{limits.processes} in all, Docker",
            "cpu": f"{limits.cpu_seconds} s, rlimit per process; 1 processor, Docker",
            "files": f"tmpfs: /task {limits.task}, /tmp {limits.tmp}, /dev/shm {limits.shm} bytes",
            "network": "none, Docker",
            "root": "not root, no capabilities, read-only root",
        }

    async def open(self) -> DockerSandbox:
        """Start a container. Raises InfrastructureError; what was started is then ended, also on cancellation."""
        starting = asyncio.ensure_future(asyncio.to_thread(self._start))
        try:
            container, ends, pid = await asyncio.shield(starting)
        except asyncio.CancelledError:
            starting.add_done_callback(_drop)
            raise
        read, write = os.pipe()
        os.write(write, json.dumps({"child-pid": pid}).encode())
        os.close(write)
        sandbox = DockerSandbox(launch.Started(Contained(pid), info=read, **ends.fds), None)
        sandbox.container, sandbox.container_id = container, container.id
        try:
            await sandbox.start()
        except BaseException:
            await sandbox.close()
            raise
        finally:
            ends.hide()
        return sandbox

    def _start(self) -> tuple[Any, Pipes, int]:
        from docker.errors import DockerException
        from requests.exceptions import RequestException

        ends, container = Pipes(), None
        try:
            container = self._client.containers.create(self._image, **self._options(str(ends.folder)))
            container.start()
            container.reload()
            return container, ends, int(container.attrs["State"]["Pid"])
        except (DockerException, RequestException) as error:
            ends.close()
            if container is not None:
                remove(container)
            raise InfrastructureError(f"Docker started no container: {error}") from None

    def _options(self, pipes: str) -> dict[str, Any]:
        limits, user = self._limits, launch.NOBODY
        own = f"uid={user},gid={user},mode=755,nosuid,nodev,exec"
        # Processes are counted by Docker: the rlimit would count those of all containers together.
        ulimit = " ".join(_without_processes(limits.ulimit.split()))
        return {
            "command": ["-c", _SCRIPT, "supervisor", ulimit],
            "entrypoint": ["/supervisor"],
            "user": f"{user}:{user}",
            "labels": {lease.LABEL: lease.mine()},
            "network_mode": "none",
            "read_only": True,
            "cap_drop": ["ALL"],
            "security_opt": ["no-new-privileges", f"seccomp={seccomp.profile()}"],
            "pids_limit": limits.processes,
            "mem_limit": limits.tree_memory,
            "nano_cpus": 1_000_000_000,
            "shm_size": limits.shm,
            "tmpfs": {"/task": f"size={limits.task},{own}", "/tmp": f"size={limits.tmp},mode=1777,nosuid,nodev,exec"},
            "volumes": {pipes: {"bind": "/pipes", "mode": "ro"}},
            "working_dir": "/task",
            "hostname": "sandbox",
            "environment": {"PATH": host.PATH, "HOME": "/task", "LANG": "C.UTF-8"},
            "runtime": self._runtime,
            "log_config": {"type": "none"},
        }


def _runtime(known: Mapping[str, Any]) -> str:
    """runc, or what RSI_SANDBOX_RUNTIME names (runsc: gVisor)."""
    wanted = os.environ.get("RSI_SANDBOX_RUNTIME", "runc")
    if wanted not in known:
        raise UserError(f"RSI_SANDBOX_RUNTIME={wanted}: the Docker engine knows {', '.join(sorted(known))} only")
    return wanted


def _without_processes(words: list[str]) -> list[str]:
    return [w for i, w in enumerate(words) if w != "-u" and (i == 0 or words[i - 1] != "-u")]


def _drop(starting: "asyncio.Future[tuple[Any, Pipes, int]]") -> None:
    """A start that nobody waits for any more: end what it made."""
    if not starting.cancelled() and starting.exception() is None:
        container, ends, _ = starting.result()
        ends.close()
        asyncio.get_running_loop().run_in_executor(None, remove, container)
