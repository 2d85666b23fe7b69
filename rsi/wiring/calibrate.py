"""`rsi gate calibrate`: the champion against itself, on a sealed shard that no generation is judged on."""

from rsi.config import RunSettings
from rsi.gate.bait import SHARD
from rsi.gate.calibrate import Calibration, calibrate
from rsi.gate.certified import Certified, looked_at, quarantine
from rsi.gate.evidence import gather, tabled
from rsi.hcp.document import recorded
from rsi.wiring.inputs import Say
from rsi.wiring.parts import Progress
from rsi.wiring.run import open_run


async def calibrate_gate(settings: RunSettings, say: Say, progress: Progress) -> Calibration:
    """Draw both arms and hold the contract against their difference. What is recorded already is not drawn again."""
    async with open_run(settings, say, progress) as cycle:
        parts, gate = cycle.parts, cycle.settings.gate
        champion = cycle.registry.current(settings.lineage)
        assert champion is not None, "an open run has a champion"
        left_out = await quarantine(parts.bank, lambda bank: looked_at(bank, SHARD, gate), parts.certify)
        tasks = looked_at(Certified(parts.bank, left_out), SHARD, gate)
        harness = recorded(champion.document).harness()
        draws = max(gate.draws, parts.contract.evaluation.draws)
        arms = [await parts.draw(tasks, champion.pair, harness, draws, f"calibrate/{arm}") for arm in ("a", "b")]
        old, new = (tabled(attempts, harness.budgets) for attempts in arms)
        return calibrate(parts.contract, gather(tasks, old, new, parts.training.specialist))
