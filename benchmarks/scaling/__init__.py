"""What grows with the number of trials, and how: see `benchmarks/scaling/README.md`."""
