"""What a run is worth: series of a run, reward, reference run, KPIs, checks and evaluations."""
