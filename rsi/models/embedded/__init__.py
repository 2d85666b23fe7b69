"""The embedded model: fetched once, served by a batching engine over transformers. Importing this loads no torch."""
