"""The value of a run: its series, reward, reference run, KPIs, checks and evaluations."""
