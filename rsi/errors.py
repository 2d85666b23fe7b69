"""The one exception root. Every error says what was wrong, where (file, key, line) and what to do.

All of them pickle (they cross process boundaries), so each takes plain positional strings only.
"""


def reason(error: BaseException) -> str:
    """The first line of what an exception says, under its type's name where it says hardly anything; never empty."""
    first = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
    return first if " " in first else f"{type(error).__name__}: {first}".removesuffix(": ")


class RsiError(Exception):
    """Root of every error this project raises on purpose."""


class UserError(RsiError):
    """Bad input or a missing prerequisite: the command line prints the message and exits with 2."""


class InfrastructureError(RsiError):
    """A sandbox, engine or network failed: the attempt is retried within a bound and never scored."""


class OutageError(InfrastructureError):
    """So many attempts of a stage were lost that its result would tell nothing: it is not committed, and the next run
    plays what is owed. The command line prints the message and exits with 1."""


class SetupError(InfrastructureError):
    """A task's set-up failed before the agent saw anything: no attempt is scored, and a certificate is refused."""


class ContextOverflow(RsiError):
    """The rendered prompt leaves no room in the model's window: the attempt ends, and is scored as it stands."""


class RequestRefusedError(RsiError):
    """A server that works would not answer this one conversation: the attempt ends, and is scored as it stands."""


class TamperError(RsiError):
    """A workspace tried to leave its bounds (links, devices, forged archives): earns nothing and is flagged."""


class IntegrityError(RsiError):
    """Stored content does not match its digest, or a promise of the store was broken."""


class LeaseHeld(RsiError):
    """Another process owns the lineage."""


class ReviewPending(RsiError):
    """People have not decided yet: nothing is lost, and the next run goes on where this one stopped. The command line
    prints the message and exits with 0."""


class TrainingError(RsiError):
    """Training refused to start or had to stop; the adapter is not exported."""


class NothingLearned(TrainingError):
    """Training ran whole, but no step had an informative group: there is no new adapter, and nothing is broken."""
