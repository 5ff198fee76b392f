"""What to try next."""
