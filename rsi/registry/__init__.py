"""The record: attempts, stages, looks, verdicts, pairs and promotions in a database (the truth), mirrored in MLflow.

SQLAlchemy lives in this folder only, MLflow in `pairs.py` only. It must not know how an attempt is made or a verdict
reached; it keeps what it is given, once, and refuses what contradicts it.
"""
