"""`rsi review`: what waits for people, and what they decide."""

import getpass
from typing import TYPE_CHECKING, Annotated

import typer

from rsi.cli.cycle import DEMO, AsJson, SettingsPath, settled
from rsi.cli.out import say, say_json

if TYPE_CHECKING:
    from rsi.report.review import Case

app = typer.Typer(no_args_is_help=True, help="Changes that wait for people.")
Request = Annotated[str, typer.Argument(help="A request: a beginning of its digest.")]
Reviewer = Annotated[str, typer.Option(help="Who decides; your user name unless given.")]
Reason = Annotated[str, typer.Option(help="Kept in the ledger.")]


@app.command("list")
def list_(settings: SettingsPath = DEMO, as_json: AsJson = False) -> None:
    """Every request of a lineage and how it stands."""
    from rsi.report.review import line
    from rsi.wiring.reviews import cases

    found = cases(settled(settings))
    if as_json:
        say_json(found)
    else:
        say("\n".join(line(case) for case in found) or "nothing was asked")


@app.command()
def show(request: Request, settings: SettingsPath = DEMO, as_json: AsJson = False) -> None:
    """What is asked: the document's difference by risk class, the evidence, and trajectories where it mattered."""
    from rsi.report.review import page
    from rsi.wiring.reviews import show as shown

    case = shown(settled(settings), request)
    if as_json:
        say_json(case)
    else:
        say(page(case))


@app.command()
def approve(request: Request, settings: SettingsPath = DEMO, reviewer: Reviewer = "", reason: Reason = "") -> None:
    """Approve exactly what the request shows."""
    say(_said(_decide(request, settings, reviewer, "approve", reason)))


@app.command()
def reject(request: Request, settings: SettingsPath = DEMO, reviewer: Reviewer = "", reason: Reason = "") -> None:
    """Reject it, which ends the request."""
    say(_said(_decide(request, settings, reviewer, "reject", reason)))


def _decide(request: str, settings: SettingsPath, reviewer: str, verdict: str, reason: str) -> "Case":
    from rsi.wiring.reviews import decide

    return decide(settled(settings), request, reviewer or _user(), verdict, reason)


def _said(case: "Case") -> str:
    if case.standing == "waiting":
        return f"request {case.id[:12]} still waits: {case.needed} different people must approve"
    if case.request.kind == "edit":
        then = "a later generation tries it" if case.standing == "approved" else "it is not tried"
        return f"request {case.id[:12]} is {case.standing}; {then}"
    return f"request {case.id[:12]} is {case.standing}; `rsi run` goes on with it"


def _user() -> str:
    from rsi.errors import UserError

    try:
        return getpass.getuser()
    except (OSError, KeyError):
        raise UserError("this user has no name; give --reviewer NAME") from None
