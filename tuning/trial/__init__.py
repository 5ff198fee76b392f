"""One trial in a process of its own: training, checkpoints, its rows in the results, and its memory limits."""
