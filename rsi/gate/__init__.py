"""The gate: judges a candidate pair against the champion on the sealed split, under a contract written by people.

Pure decisions over recorded attempts. It must not know how attempts are made, where anything is stored, or who proposed
the candidate; of what it sees, only the decision may travel back to the loop.
"""
