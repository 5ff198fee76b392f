"""A trained policy as files that run without this package: `python -m tuning.export experiments/NAME --trial best --to DIR`."""
