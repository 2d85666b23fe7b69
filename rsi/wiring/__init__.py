"""Which adapter stands behind which seam. The only room that knows them all; it decides nothing else.

Modules are imported one by one: what a rollout worker needs must not drag in databases or plots.
"""
