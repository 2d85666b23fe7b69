"""Certificates on disk: JSON lines under the home, one file a bank and salt, never in a repository."""

import json
import os
from collections.abc import Sequence
from pathlib import Path

from pydantic import ValidationError

from rsi.types import Certificate

Key = tuple[str, str]  # task id, sandbox identity


class Certificates:
    """What has been proved by one `protocol` (a digest of how tasks are certified). The last line of a key holds.

    A torn line, or one of another protocol, is as good as none: its task is certified again."""

    def __init__(self, path: Path, protocol: str) -> None:
        self.path, self._protocol = path, protocol
        self._known: dict[Key, Certificate] = {}
        for line in path.read_text(errors="replace").splitlines() if path.exists() else ():
            try:
                data = json.loads(line)
                if data.pop("protocol", "") == protocol:
                    self._remember(Certificate.model_validate(data))
            except (ValueError, AttributeError, ValidationError):
                continue

    def get(self, task_id: str, sandbox: str) -> Certificate | None:
        return self._known.get((task_id, sandbox))

    def add(self, certificates: Sequence[Certificate]) -> None:
        """Durable when it returns: one write at the end of the file, whole lines only."""
        if not certificates:
            return
        lines = [json.dumps({"protocol": self._protocol, **c.model_dump(mode="json")}) for c in certificates]
        self.path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
        with os.fdopen(handle, "ab") as file:
            size = os.fstat(handle).st_size
            torn = size > 0 and os.pread(handle, 1, size - 1) != b"\n"
            file.write(("\n" * torn + "".join(f"{line}\n" for line in lines)).encode())
            file.flush()
            os.fsync(handle)
        for certificate in certificates:
            self._remember(certificate)

    def _remember(self, certificate: Certificate) -> None:
        self._known[certificate.task_id, certificate.sandbox] = certificate
