"""PPO and A2C, which learn from each rollout once."""
