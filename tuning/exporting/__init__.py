"""A trained policy as files that run without this package, and its hours over a year."""
