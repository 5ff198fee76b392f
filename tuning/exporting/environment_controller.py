"""Run an episode of an environment with an exported policy: `python controller.py ID [SEED]`, with the id of Gymnasium's."""

import sys
from functools import cache
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import onnxruntime  # type: ignore[import-untyped]
from gymnasium.spaces.utils import flatten


@cache
def policy() -> onnxruntime.InferenceSession:
    """The network beside this file."""
    return onnxruntime.InferenceSession(Path(__file__).parent / "policy.onnx")


def act(env: gymnasium.Env[Any, Any], observation: Any) -> Any:
    """The action of the policy, as the environment takes it."""
    row = np.asarray(flatten(env.observation_space, observation), np.float32)[None]
    if (sees := policy().get_inputs()[0].shape[1]) != row.shape[1]:
        raise ValueError(f"the policy is of an environment that shows {sees} numbers, and this one shows {row.shape[1]}")
    (action,) = policy().run(None, {"observations": row})[0]
    space = env.action_space
    return int(action[0]) if isinstance(space, gymnasium.spaces.Discrete) else action.reshape(space.shape).astype(space.dtype)


def episode(env: gymnasium.Env[Any, Any], seed: int = 0) -> float:
    """Return of an episode."""
    observation, _ = env.reset(seed=seed)
    total, over = 0.0, False
    while not over:
        observation, reward, terminated, truncated, _ = env.step(act(env, observation))
        total, over = total + float(reward), terminated or truncated
    return total


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("error: name an environment, as in python controller.py Pendulum-v1; one of your own is given to episode()")
    try:
        print(f"return {episode(gymnasium.make(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0):,.1f}")
    except (gymnasium.error.Error, ImportError, ValueError) as error:
        sys.exit(f"error: {error}")
