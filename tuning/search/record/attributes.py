"""Names under which a study keeps what Optuna has no place for, at a trial."""

# User attributes.
HYPERPARAMETERS = "hyperparameters"  # the full assignment
SAME_AS = "same_as"  # number of an earlier trial with the same assignment, which has its outcome; it was not trained
REFUSED = "refused"  # why it does not fit into memory and was not started
REASON = "reason"  # why it failed
GAINS = "gains"  # of two objectives: both gains of each evaluation, by its due steps as a text

# User attributes of a trial that confirms.
CONFIRMS = "confirms"  # number of the trial with the same assignment
CONFIRM_RUN = "confirm_run"  # number of its seed, from 0
CONFIRM_ROLE = "confirm_role"  # `default`, `best` or `candidate`
CONFIRM_STEPS = "confirm_steps"  # most steps of it
CONFIRM_AFTER = "confirm_after"  # evaluations of the search itself before it began

# Constraints, each violated above 0. Optuna lets none be set twice.
# How many bytes are free is none of it: that differs from hour to hour, and a search that goes on draws what it would have.
PREDICTED = "predicted memory"  # missing bytes, 0 where none are
MEASURED = "measured memory"  # missing bytes, after it ran out of memory
REQUIRED = "requirements"  # by how much they are missed
ALIKE = "does what an earlier trial does"
