"""Soft actor-critic: off-policy learning from a replay buffer of arrays. Import `trainer` for what a trial needs."""
