"""What turns model output into actions: one episode loop for training, evaluation and serving.

Pure but for the two ports it drives, a model and a sandbox. It never sees a task's key, a verifier, a score, a pair or
a purpose, so it cannot behave differently where it is measured.
"""

from rsi.harness.loop import Episode, run_episode

__all__ = ["Episode", "run_episode"]
