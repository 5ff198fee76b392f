"""One trial in its own process: training, checkpoints, records, memory limits."""
