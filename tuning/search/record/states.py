"""What the state of a trial says of it."""

from optuna.trial import FrozenTrial, TrialState

# Of a trial that is, or may become, the best of a search. One that a pruner stopped, or that ran out of memory, is not.
CAN_BE_BEST = (TrialState.RUNNING, TrialState.WAITING, TrialState.COMPLETE)


def lacked_memory(trial: FrozenTrial) -> bool:
    """Whether a trial did not fit into memory: by prediction, or as it ran out of it."""
    return any(excess > 0 and "memory" in name for name, excess in trial.constraints.items())
