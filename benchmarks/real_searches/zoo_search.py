"""rl-baselines3-zoo itself, as it is installed: its `--optimize` in an environment, and its training of what won.

It begins with the hyperparameters that its authors know to be good for the environment, and samples most of them anew.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import optuna

from benchmarks.real_searches.ours import EPISODES
from benchmarks.real_searches.records import RealSearchError, Task, Winner
from benchmarks.real_searches.sites import environment_of
from envs.gym.episodes import Episodes
from envs.gym.source import Source

JOURNAL, STUDY = "study.log", "zoo"
OWN_ID, VARIABLE = "Own-v0", "REAL_SEARCHES_ENV"  # the id of an environment of one's own, and what names it
REGISTERS = "benchmarks.real_searches.zoo_env"
LOOK_SECONDS = 2.0  # each look reads the whole journal
_MANY = "1000000"  # trials; the budget ends the search


def search(task: Task) -> Winner:
    """Search until the budget is spent; the best trial wins by its last evaluation, as the zoo has it.

    Raises:
        RealSearchError: if its process failed, or no trial was finished.
    """
    env, terms, journal = environment_of(task.scenario), task.terms, task.folder / JOURNAL
    options = {
        "--n-trials": _MANY, "--n-evaluations": terms.evaluations, "--eval-episodes": EPISODES, "--sampler": "tpe",
        "--pruner": "median", "--storage": journal, "--study-name": STUDY, "--seed": task.seed, "--n-jobs": terms.cores,
    }  # fmt: skip
    command = [*_command(env, terms.steps, task.folder), "--optimize", "--no-optim-plots", *_flat(options)]
    process = subprocess.Popen(command, env=_naming(env), stdin=subprocess.DEVNULL)
    started = time.monotonic()
    try:
        while not terms.is_over(time.monotonic() - started, _trained_steps(journal, env, terms.steps, terms.evaluations)):
            if process.poll() is not None:
                raise RealSearchError(f"{task.folder}: the zoo ended with {process.returncode}; its log is beside it")
            time.sleep(LOOK_SECONDS)
    finally:
        process.kill()
        process.wait()
    trials = _trials(journal)
    finished = [trial for trial in trials if trial.state == optuna.trial.TrialState.COMPLETE]
    if not finished:
        raise RealSearchError("zoo: no trial was finished within the budget; give a larger --budget, or fewer --steps")
    best = max(finished, key=lambda trial: trial.value)
    return Winner(
        library="rl-zoo3",
        hyperparameters=best.params,
        steps=terms.steps,
        most_steps=terms.steps,
        score=best.value,
        trials=len(trials),
        evaluations=sum(len(trial.intermediate_values) for trial in trials),
        trained_steps=_trained_steps(journal, env, terms.steps, terms.evaluations),
    )


def trained_and_rated(env: str, winner: Winner, seed: int, seeds: range, evaluations: int) -> float:
    """Mean return of the best model that the zoo keeps of a training with a winner's hyperparameters.

    Args:
        env: id of the environment.
        winner: of `search`.
        seed: of the training.
        seeds: of the episodes that rate it.
        evaluations: of the training, of which the best counts.
    """
    from rl_zoo3.hyperparams_opt import convert_onpolicy_params
    from stable_baselines3 import PPO
    from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

    given = convert_onpolicy_params(dict(winner.hyperparameters))
    policy = given.pop("policy_kwargs")
    activation = f"activation_fn=nn.{policy.pop('activation_fn').__name__}"
    text = f"dict({', '.join([activation, *(f'{name}={value!r}' for name, value in policy.items())])})"
    # The zoo evaluates each value, and this one a second time.
    texts = [f"{name}:{value!r}" for name, value in [*given.items(), ("policy_kwargs", text)]]
    evaluating = {"--eval-freq": winner.steps // evaluations, "--eval-episodes": EPISODES}
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [*_command(env, winner.steps, Path(folder)), "--seed", str(seed % 2**31), *_flat(evaluating), "-params", *texts],
            env=_naming(env), check=True, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        (saved,) = Path(folder).glob("ppo/*/best_model.zip")
        model = PPO.load(saved, device="cpu")
        scales = None
        if (path := saved.parent / _id(env) / "vecnormalize.pkl").exists():
            scales = VecNormalize.load(str(path), DummyVecEnv([Source(env).make]))

    def act(observations: np.ndarray) -> np.ndarray:
        seen = scales.normalize_obs(observations) if scales else observations
        return np.asarray(model.predict(seen, deterministic=True)[0])

    episodes = Episodes(Source(env).make, seeds)
    return float(np.mean([row["score"] for row in episodes.rows(act)]))


def _command(env: str, steps: int, folder: Path) -> list[str]:
    same = {"--algo": "ppo", "--env": _id(env), "-n": steps, "-f": folder, "--num-threads": 1, "--device": "cpu"}
    own = ["--gym-packages", REGISTERS] if Source(env).names_code else []
    return [sys.executable, "-m", "rl_zoo3.train", *own, *_flat(same)]


def _id(env: str) -> str:
    return OWN_ID if Source(env).names_code else env


def _naming(env: str) -> dict[str, str]:
    return os.environ | {VARIABLE: env}


def _flat(options: dict[str, Any]) -> list[str]:
    return [str(part) for pair in options.items() for part in pair]


def _trials(journal: Path) -> list[optuna.trial.FrozenTrial]:
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend

    if not journal.exists():
        return []
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    storage = JournalStorage(JournalFileBackend(str(journal)))
    return optuna.load_study(storage=storage, study_name=STUDY).trials if storage.get_all_studies() else []


def _trained_steps(journal: Path, env: str, steps: int, evaluations: int) -> int:
    """Steps before the last evaluation of each trial, summed; the copies are those of the zoo's own file."""
    copies = _copies(env)
    apart = max(steps // evaluations // copies, 1) * copies
    return sum(apart * max(trial.intermediate_values, default=0) for trial in _trials(journal))


def _copies(env: str) -> int:
    import rl_zoo3
    import yaml

    known = yaml.safe_load((Path(rl_zoo3.__file__).parent / "hyperparams" / "ppo.yml").read_text(encoding="utf-8"))
    return int(known.get(env, known["default"]).get("n_envs", 1))
