"""Isolated workspaces for agents, verifiers and generators: bubblewrap, or Docker.

The room knows how to confine a hostile command and how to get files in and out. It must not know what runs in it: no
task, no harness, no model.
"""

from rsi.sandbox.bubblewrap import Bubblewrap
from rsi.sandbox.host import Limits, check_not_bound
from rsi.sandbox.probe import HostFacts, diagnose, probe, read_facts

__all__ = ["Bubblewrap", "HostFacts", "Limits", "check_not_bound", "diagnose", "probe", "read_facts"]
