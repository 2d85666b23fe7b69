"""The embedded model: fetched once, served by a batching engine over transformers. Torch is imported by its modules only."""
