"""Search for hyperparameters: command line, experiments, the study, trials."""
