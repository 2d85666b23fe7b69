"""Task banks: loading, splits, generators, certification. It must not know models, harnesses, stores or the gate."""
