"""What grows with the number of trials, and how: see `docs/scaling.md`."""
