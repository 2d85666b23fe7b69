"""ports.Trainer over TRL, in a process of its own. Must not know harness, sandbox, verifier or store."""
