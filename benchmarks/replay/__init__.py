"""Searches replayed on recorded learning curves, in virtual time."""
