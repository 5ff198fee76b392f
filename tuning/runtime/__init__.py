"""Processes: Ray, the parent process, stopwatches."""
