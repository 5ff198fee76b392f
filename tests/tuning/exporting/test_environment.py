"""An exported policy of an environment does in ONNX what it does here, whatever it sees and chooses."""

import runpy
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import onnxruntime  # type: ignore[import-untyped]
import pytest
from gymnasium.spaces.utils import flatten

from common.errors import UsageError
from results import load
from tests.tuning.trial.small_trials import SMALL, completed, in_environment
from tuning.algorithms.registry import algorithm_of
from tuning.experiment.folder import Experiment
from tuning.exporting.files import export_policy
from tuning.exporting.settings import ExportSettings
from tuning.trial.policy import trained
from tuning.trial.protocol import Proposal
from tuning.trial.records import TrialRecords
from tuning.trial.training import Training


def trained_in(folder: Path, env: str, algo: str) -> Experiment:
    of = in_environment(folder, env, algo)
    space = algorithm_of(of.settings).space
    assignment = space.complete({**SMALL[algo], "hidden_sizes": "8"}, {"steps": float(of.settings.steps)})
    records = TrialRecords(of)
    with Training(of, records.hand_out(Proposal(0, assignment)), of.paths.folder.exists) as trial:
        for report in trial.updates():
            records.take(0, report)
    records.end(0, "complete")
    return of


@pytest.mark.usefixtures("small_ray")
@pytest.mark.parametrize(
    ("algo", "env"), [("ppo", "CartPole-v1"), ("a2c", "tests.tuning.trial.chooser:Chooser"), ("sac", "examples.pump:make")]
)
def test_the_files_score_what_the_policy_scored(tmp_path: Path, algo: str, env: str) -> None:
    of, to = trained_in(tmp_path / "one", env, algo), tmp_path / "exported"
    settings = ExportSettings(of.paths.folder, to=to, trust_scenario=True)
    paths = export_policy(settings)
    names = ["README.md", "controller.py", "hyperparameters.toml", "policy.json", "policy.onnx"]
    assert [path.name for path in paths] == names
    session = onnxruntime.InferenceSession(to / "policy.onnx")
    task = of.settings.env_task
    inner, learned = task.source.make(), task.training_env(1)
    shown = [inner.reset(seed=seed)[0] for seed in range(5)]
    rows = np.stack([flatten(inner.observation_space, each).astype(np.float32) for each in shown])
    (given,) = session.run(None, {"observations": rows})
    with trained(of, 0) as policy:
        mode = np.asarray(policy.policy(rows))
    if isinstance(inner.action_space, gym.spaces.Box):
        low, high = inner.action_space.low, inner.action_space.high
        mode = low + (np.clip(mode, -1.0, 1.0) + 1.0) / 2.0 * (high - low)
    np.testing.assert_allclose(given, mode.reshape(given.shape), atol=1e-6)
    learned.close()
    # The example runs whole episodes: those that the policy was rated by.
    example: dict[str, Any] = runpy.run_path(str(to / "controller.py"))
    kept = load(of.paths.folder).rated_evaluations.sort_values("year")["score"]
    seeds = range(2**30, 2**30 + len(kept))
    assert [example["episode"](task.source.make(), seed) for seed in seeds] == pytest.approx(kept.tolist(), rel=1e-4)
    with pytest.raises(ValueError, match=r"the policy is of an environment that shows \d+ numbers, and this one shows 6"):
        example["episode"](gym.make("Acrobot-v1"))
    card = (to / "README.md").read_text(encoding="utf-8")
    assert f"| environment | {task.title} |" in card
    assert "mean of 2 episodes" in card
    text = (to / "hyperparameters.toml").read_text(encoding="utf-8")
    assert tomllib.loads(text)["hidden_sizes"] == {"value": "8"}
    assert "--env " in text
    assert "--scenario" not in text
    with pytest.raises(UsageError, match="are of sites"):
        export_policy(replace(settings, to=tmp_path / "other", scenario="iquitos"))


def test_a_strangers_code_is_not_run_by_an_export(tmp_path: Path) -> None:
    of = completed(in_environment(tmp_path / "one", "examples.pump:make", "ppo"), (1.0, {}))
    with pytest.raises(UsageError, match="--trust-scenario"):
        export_policy(ExportSettings(of.paths.folder, to=tmp_path / "exported"))
    assert not (tmp_path / "exported").exists()
