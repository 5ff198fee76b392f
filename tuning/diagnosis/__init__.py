"""Whether a machine can do the work, found by doing it: `python -m tuning.doctor`."""
