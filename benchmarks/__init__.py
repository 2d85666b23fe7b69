"""Figures, each with its sample size and interval. `python -m benchmarks.NAME [--quick]`."""
