"""The search: Optuna's study, Ray Tune's adapters to it, and how a run starts, stops and recovers."""
