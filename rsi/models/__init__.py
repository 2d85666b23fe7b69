"""Model backends: each implements ports.ModelBackend. Nothing here knows tasks, harnesses or verifiers."""
