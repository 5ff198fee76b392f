"""What a trial takes of a machine: predicted before it runs, granted by Ray, measured while it runs."""
