"""A search, its best trial, and the same experiment continued with more trials."""

import sys
from pathlib import Path

import tyro

from tuning import Settings, UserError, resume, tune


def main(
    scenario: str = "iquitos",
    trials: int = 2,
    steps: int = 250_000,
    fixed: tuple[str, ...] = (),
    folder: Path = Path("experiments"),
) -> None:
    """Search with half of the trials, look, then with all of them.

    Args:
        scenario: a generated site, or the path of a CityLearn schema.json.
        trials: number of trials, at least 2.
        steps: environment steps of a trial.
        fixed: hyperparameters that are not searched, such as n_steps=256.
        folder: for the experiment, which is called `example`.
    """
    if trials < 2:
        raise UserError(f"--trials {trials}: it is at least 2")
    settings = Settings(
        algo="ppo",
        scenario=scenario,
        trials=trials // 2,
        steps=steps,
        set=(fixed,) if fixed else (),
        name="example",
        dir=str(folder),
    )
    results = tune(settings)
    print(f"best of {len(results.trials)}: trial {results.best['trial']}, score {results.best['score']:+.4f}")
    # By default several trials share the steps of four whole ones, so more trials need a larger budget too.
    results = resume(results.folder, trials=trials, budget=str(trials * steps))
    print(f"best of {len(results.trials)}: trial {results.best['trial']}, score {results.best['score']:+.4f}")


if __name__ == "__main__":
    try:
        tyro.cli(main)
    except UserError as error:
        sys.exit(f"error: {error}")
