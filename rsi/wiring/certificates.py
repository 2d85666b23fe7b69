"""Who proves tasks on this machine, and where this home keeps the proofs."""

import asyncio
from pathlib import Path

from rsi.banks import certify as certifying
from rsi.banks.certificates import Certificates
from rsi.banks.generated import GeneratedBank
from rsi.banks.hacks import probes
from rsi.banks.probes import PROBES, some
from rsi.config import home
from rsi.errors import InfrastructureError
from rsi.ids import digest, digest_file, digest_tree
from rsi.ports import SandboxProvider
from rsi.types import Certificate, Task, TaskKey
from rsi.verify.checks import CheckVerifier
from rsi.wiring.browser import BrowserJudge

AT_ONCE = 4
TRIES = 3  # of a task whose sandbox breaks
BREAKS = "its sandbox breaks each time, and others do not"  # not kept: on another day it may have been the machine
TRICKS = 1  # a task, of those that tests/verify/test_tricks.py plays in full


def protocol() -> str:
    """Digest of how tasks are proved: repeats, hacks, the code of certificates and verifiers."""
    here = Path(certifying.__file__).parent
    code = [digest_file(here / "certify.py"), digest_tree(here.parent / "verify", "*.py")]
    code.append(digest_file(here.parent / "turns.py"))
    return digest([certifying.REPEATS, [[probe.name, probe.command] for probe in (*PROBES, *probes())], TRICKS, code])


def book(bank: GeneratedBank) -> Certificates:
    """This home's certificates of a bank under the home's salt."""
    name = f"{bank.digest}-{bank.salt_digest}.jsonl"
    return Certificates(home() / "certificates" / bank.definition.name / name, protocol())


class Prover:
    """ports.Certifier: a certificate of the book where it holds one, else a new one, which goes into it. `fresh` proves
    again whatever stands there and leaves it to the caller to keep the result."""

    def __init__(self, bank: GeneratedBank, provider: SandboxProvider | None, fresh: bool = False) -> None:
        self.book, self._provider, self._fresh = book(bank), provider, fresh
        self._verifier = CheckVerifier(provider, BrowserJudge(times=certifying.REPEATS))
        self._turn = asyncio.Semaphore(AT_ONCE)

    async def __call__(self, task: Task, key: TaskKey) -> Certificate:
        """Raises InfrastructureError where the sandbox breaks again and again."""
        sandbox = self._provider.identity if task.needs_sandbox and self._provider is not None else "none"
        known = None if self._fresh else self.book.get(task.id, sandbox)
        if known is not None:
            return known
        async with self._turn:
            certificate = await self._prove(task, key)
        if not self._fresh and certificate.reason != BREAKS:
            self.book.add([certificate])
        return certificate

    async def _prove(self, task: Task, key: TaskKey) -> Certificate:
        tricks = (*PROBES, *some(task.id, probes(), TRICKS))
        for n in range(TRIES):
            try:
                return await certifying.certify(task, key, self._verifier, self._provider, probes=tricks)
            except InfrastructureError:
                if n == TRIES - 1 and (self._provider is None or not await _opens(self._provider)):
                    raise
        return certifying.unfit(task, self._provider.identity if self._provider else "none", BREAKS)


async def _opens(provider: SandboxProvider) -> bool:
    """Whether a sandbox in which nothing hostile is done holds now."""
    try:
        sandbox = await provider.open()
        try:
            return (await sandbox.exec("true", 10.0)).exit_code == 0
        finally:
            await sandbox.close()
    except InfrastructureError:
        return False
