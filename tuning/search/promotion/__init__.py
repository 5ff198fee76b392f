"""Which trial goes on, which stops, and which is trained again."""
