"""Isolated workspaces for agents, verifiers and generators: today bubblewrap.

The room knows how to confine a hostile command and how to get files in and out. It must not know what runs in it: no
task, no harness, no model.
"""
