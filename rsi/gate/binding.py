"""What a contract binds a run to, besides the figures: bank, sealed tasks, seed, judge. Pure."""

from rsi.errors import UserError
from rsi.gate.contract import Contract, Metric

_WATCHED: tuple[Metric, ...] = ("canary_passes", "sealed_leaks", "replay_gap")  # what the canaries measure


def check_bound(
    contract: Contract,
    bank: str,
    salt: str | None = None,
    seed: int | None = None,
    model: str | None = None,
    canaries: int | None = None,
) -> None:
    """UserError where the run is not the one that the contract is for. `salt`: the digest of the home's salt; `model`:
    the policy's id; `canaries`: how many a generation. What is None is not looked at."""
    asked, where = contract.evaluation, f"contract '{contract.name}'"
    if asked.bank not in (None, bank):
        raise UserError(f"{where} is for bank '{asked.bank}', this lineage runs '{bank}'")
    if salt is not None and asked.salt not in (None, salt):
        raise UserError(f"{where}: 'evaluation.salt' is of another home's sealed tasks; this home's digest is {salt}")
    if seed is not None and asked.seed not in (None, seed):
        raise UserError(f"{where}: 'evaluation.seed' is {asked.seed}, the run's seed is {seed}; set it so")
    if canaries == 0 and (unmeasured := [metric for metric in _WATCHED if contract.asks(metric)]):
        raise UserError(
            f"{where} has clauses on {', '.join(unmeasured)}, which canaries measure, and 'gate.canaries' is 0: "
            "nothing could be promoted; set it above 0, or take a contract without them"
        )
    judge = asked.judge
    if judge is not None and model is not None and judge.family.lower() in model.lower() and not judge.because:
        raise UserError(
            f"{where}: the judge is of the policy's own family '{judge.family}' and would favour it; take another, or "
            "say in 'evaluation.judge.because' why it may judge"
        )
