"""Episodes as attempts: play one, run many (here or on Ray), record each before it counts.

Models, sandboxes and verifiers come in as ports; how they are made is not known here.
"""

from rsi.rollouts.episode import Parts, code_version, play
from rsi.rollouts.local import LocalExecutor
from rsi.rollouts.record import Recording, make_spec

__all__ = ["LocalExecutor", "Parts", "Recording", "code_version", "make_spec", "play"]
