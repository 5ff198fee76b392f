"""What trainers share that are built on RLlib."""

from __future__ import annotations

import math
import random
import uuid
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import gymnasium as gym
import numpy as np
import torch
from gymnasium.vector import VectorEnv

from envs.objective.weights import Weights
from envs.seen import Seen
from search_spaces import Assignment
from tuning.algorithms.errors import UnfitError
from tuning.algorithms.precision import check_device, has_tf32, set_tf32
from tuning.algorithms.rllib_learner import MODULE
from tuning.algorithms.sampling.preprocessing import Preprocessing
from tuning.algorithms.trainer import WHOLE, Rows, Setup, Trainer, Update

if TYPE_CHECKING:
    from ray.rllib.algorithms.algorithm import Algorithm
    from ray.rllib.algorithms.algorithm_config import AlgorithmConfig

    from envs.district import District
    from envs.yardsticks.lessons import Lessons
    from tuning.algorithms.imitation.demonstration import Demonstration
    from tuning.algorithms.networks.building_view import BuildingView
    from tuning.algorithms.networks.planned_storages import PlannedStorages
    from tuning.algorithms.networks.site_view import SiteView
    from tuning.algorithms.sampling.env_runner import BatchEnvRunner
    from tuning.runtime.stopwatch import Stopwatch


def random_state() -> dict[str, Any]:
    """States of Python's, NumPy's and torch's random numbers, those of GPUs included."""
    return {
        "python": python_state(random.getstate()),
        "numpy": np.random.get_state(),
        "torch": torch.get_rng_state().numpy(),
        "cuda": [state.numpy() for state in torch.cuda.get_rng_state_all()] if torch.cuda.is_available() else [],
    }


def python_state(state: tuple[Any, ...]) -> dict[str, Any]:
    """A state of `random.getstate`, with the words of its generator as an array."""
    version, words, spare = state
    return {"version": version, "words": np.array(words, np.uint32), "spare": spare}


def set_random_state(state: dict[str, Any]) -> None:
    """Go on from a state of `random_state`; on a machine with other GPUs, theirs stay as they are."""
    python = state["python"]
    random.setstate((python["version"], tuple(python["words"].tolist()), python["spare"]))
    np.random.set_state(state["numpy"])
    torch.set_rng_state(torch.from_numpy(state["torch"].copy()))
    if torch.cuda.is_available() and len(state["cuda"]) == torch.cuda.device_count():
        torch.cuda.set_rng_state_all([torch.from_numpy(own.copy()) for own in state["cuda"]])


# The environment's name in Ray's registry, which all processes of a search share. Under one name, two trials that begin at once
# would now and then get each other's environment.
ENVIRONMENT = f"site-{uuid.uuid4().hex}"
# Parts of RLlib's state that an update begins anew: the learner hands its metrics over at the end of each.
_FORGOTTEN = ("learner_group/learner/metrics_logger",)


class RLlibTrainer(Trainer):
    """One of RLlib's algorithms, with its env runner and its learner in this process."""

    columns: ClassVar[tuple[str, ...]] = (
        "policy_loss", "value_loss", "entropy", "ent_coef", "kl", "explained_variance", "gradient_norm", "learning_rate",
    )  # fmt: skip
    setup: Setup  # what it is built from: without chargers, where their actions are not learned
    algorithm: Algorithm  # RLlib's; its `train()` is one update, or several

    def __init__(self, setup: Setup, copies: Callable[[Assignment, int], int]) -> None:
        """Build it. Raises `ValueError` for hyperparameters that cannot be trained together, by name."""
        from ray.tune import register_env

        h: Any = setup.hyperparameters
        check_device(setup.hyperparameters, setup.gpu)
        self.setup = setup = seen_by_the_policy(setup)
        self.num_envs = copies(setup.hyperparameters, setup.most_envs)
        set_tf32(h["tf32"])
        register_env(ENVIRONMENT, lambda context: setup.make_envs(context["num_envs"]))
        config: Any = self.configuration()
        # The environment clips actions itself; RLlib doing so once more costs as much as its sampling.
        config.environment(ENVIRONMENT, disable_env_checking=True, normalize_actions=False, clip_actions=False)
        config.env_runners(
            gym_env_vectorize_mode=gym.VectorizeMode.VECTOR_ENTRY_POINT,
            num_env_runners=0,
            num_envs_per_env_runner=self.num_envs * setup.agents,
            batch_mode="truncate_episodes",
        )
        config.learners(num_learners=0, num_gpus_per_learner=1 if setup.gpu else 0)
        # A thread for each algorithm would measure the whole machine.
        config.debugging(seed=setup.seed, log_level="ERROR", log_sys_usage=False)
        self.algorithm = config.build_algo()

    @abstractmethod
    def configuration(self) -> AlgorithmConfig:
        """RLlib's configuration for `setup`, without environment, copies, device and seed."""

    @property
    def learner(self) -> Any:
        """The one learner."""
        group: Any = self.algorithm.learner_group
        return group._learner

    @property
    def runner(self) -> BatchEnvRunner:
        """The one env runner."""
        runner: Any = self.algorithm.env_runner
        return runner

    @property
    def view(self) -> SiteView | BuildingView | None:
        """See `Trainer`."""
        from tuning.algorithms.networks.building_view import BuildingView
        from tuning.algorithms.networks.site_view import SiteView

        found: SiteView | BuildingView | None = self._of_env("view", SiteView, BuildingView)
        return found

    def _of_env(self, name: str, *kinds: type) -> Any:
        """An attribute of one of the wrappers around the site's environment; None where none has it."""
        env = self.runner.env
        while not isinstance(found := vars(env).get(name), kinds):
            env = getattr(env, "env", None)
            if env is None:
                return None
        return found

    @property
    def weights(self) -> Weights | None:
        """See `Trainer`."""
        found: Weights | None = self._of_env("weights", Weights)
        return found

    @property
    def shares(self) -> bool:
        """See `Trainer`."""
        from tuning.algorithms.networks.building_view import BuildingView

        return isinstance(self.view, BuildingView)

    def update(self) -> Update:
        """See `Trainer`."""
        result = self.algorithm.train()
        return Update(int(result["num_env_steps_sampled_lifetime"]) // self.setup.agents, self.losses(result))

    def losses(self, result: dict[str, Any]) -> dict[str, float | int | None]:
        """Columns of a report from the result of one `algorithm.train()`; None where nothing was measured."""
        learner = result.get("learners", {}).get(MODULE, {})
        losses: dict[str, float | int | None] = {column: _finite(learner.get(column)) for column in self.columns}
        losses["gradient_steps"] = int(learner.get("gradient_steps", 0))
        losses["episode_return"] = _finite(result["env_runners"].get("episode_return_mean"))
        return losses

    def imitate(self, lessons: Lessons) -> None:
        """See `Trainer`."""
        from tuning.algorithms.imitation.demonstration import demonstrations

        self.begin_as(list(demonstrations(self.runner.env, self.num_envs, lessons)))

    def begin_as(self, parts: list[Demonstration]) -> None:
        """Begin as a copy of what was demonstrated."""
        from tuning.algorithms.imitation.demonstration import take_into_statistics

        take_into_statistics(self.runner, parts)
        self.learn_from(parts)

    @abstractmethod
    def learn_from(self, parts: list[Demonstration]) -> None:
        """Begin as a copy of a teacher."""

    @abstractmethod
    def mode(self) -> Callable[[np.ndarray], np.ndarray]:
        """The mode of the policy as it is now, from what the algorithm's environment shows to what it takes."""

    def policy(self) -> Callable[[np.ndarray], np.ndarray]:
        """See `Trainer`."""
        return _policy(self.mode(), self.view, self.planned)

    def policy_on(self, site: District) -> Callable[[np.ndarray], np.ndarray]:
        """See `Trainer`."""
        return _policy(self.mode(), self.view_on(site), self.planned_on(site))

    @property
    def planned(self) -> PlannedStorages | None:
        """See `Trainer`."""
        from tuning.algorithms.networks.planned_storages import PlannedStorages

        found: PlannedStorages | None = self._of_env("planned", PlannedStorages)
        return found

    def planned_on(self, site: District) -> PlannedStorages | None:
        """See `Trainer`."""
        from tuning.algorithms.networks.planned_storages import PlannedStorages

        return PlannedStorages(site) if self.planned else None

    def view_on(self, site: District) -> BuildingView:
        """See `Trainer`."""
        from tuning.algorithms.networks.building_view import BuildingView

        own = self.view
        if not isinstance(own, BuildingView):
            raise UnfitError(WHOLE)
        return BuildingView(own.kinds, site)

    def used_by_all(self, layers: torch.nn.Module, charging: float | None) -> Assignment:
        """What `used` says of what all algorithms have.

        Args:
            layers: of the policy.
            charging: `initial_charging` of a network that acts for chargers; None where there is none.
        """
        from tuning.algorithms.networks.layers import activation_of, layer_sizes

        view, runner, config, shape = self.view, self.runner, self.learner.config, self.learner.network.shape
        learns_charging = None if charging is None else True
        if view is not None and view.learns_charging is not None:
            learns_charging, charging = view.learns_charging, view.initial_charging
        env: Any = runner.env
        while (seen := getattr(env, "seen", None)) is None and hasattr(env, "env"):
            env = env.env
        return {
            "hidden_sizes": ",".join(str(size) for size in layer_sizes(layers)),
            "activation": activation_of(layers),
            "log_std_init": shape.log_std_init,
            "learn_charging": learns_charging,
            "initial_charging": charging,
            "shared_policy": self.shares,
            **(seen or Seen()).hyperparameters,
            "normalize_observations": runner.normalizer is not None,
            "clip_obs": runner.preprocessing.clip_obs,
            "normalize_rewards": runner.reward_normalizer is not None,
            "reward_scale": runner.preprocessing.reward_scale,
            "bf16": config.bf16,
            "tf32": has_tf32(),
            "torch_compile": shape.compiled,
            "cuda_graphs": shape.cuda_graphs,
            "pin_memory": config.pin_memory,
        }

    def get_state(self) -> dict[str, Any]:
        """See `Trainer`."""
        from tuning.algorithms.rllib_trainer import random_state

        state = {"algorithm": self.algorithm.get_state(not_components=_FORGOTTEN), "random": random_state()}
        return state if self.replay is None else {**state, "replay": self.replay.get_state()}

    def set_state(self, state: dict[str, Any], rows: Rows) -> None:
        """See `Trainer`."""
        from tuning.algorithms.rllib_trainer import set_random_state

        # The buffer first: the runner acts on its observations.
        if self.replay is not None:
            self.replay.set_state(state["replay"], rows)
        self.algorithm.set_state(state["algorithm"])
        set_random_state(state["random"])

    def watch(self, environment: Stopwatch, learner: Stopwatch) -> None:
        """See `Trainer`. RLlib's own timers are smoothed; these have to add up."""
        self.runner.watch(environment)
        self.learner.watch(learner)

    def stop(self) -> None:
        """See `Trainer`."""
        self.algorithm.stop()


def preprocessing(setup: Setup) -> Preprocessing:
    """What the hyperparameters say of observations and rewards."""
    h: Any = setup.hyperparameters
    keep = tuple(i for own in setup.chargers.observations for i in own) if setup.chargers else ()
    return Preprocessing(
        h["normalize_observations"], h["clip_obs"], h["normalize_rewards"], h["reward_scale"], h["gamma"], keep + setup.keep
    )


def without_chargers(setup: Setup) -> Setup:
    """The same site with vehicles that charge as on the uncontrolled one, so that only the other actions are learned."""
    make_envs, chargers, initial_charging = setup.make_envs, setup.chargers, setup.hyperparameters["initial_charging"]
    if not chargers:
        return setup

    def make_site_envs(copies: int) -> VectorEnv[Any, Any, Any]:
        from tuning.algorithms.networks.site_view import SiteViewEnv

        return SiteViewEnv(make_envs(copies), chargers, float(initial_charging))  # type: ignore[arg-type]

    return replace(setup, make_envs=make_site_envs, chargers=None)


def building_by_building(setup: Setup, site: District) -> Setup:
    """The same site as many of one building, which share a policy: a step gives a transition of each, which schedules count."""
    from tuning.algorithms.networks.building_kinds import BuildingKinds, Parts
    from tuning.algorithms.networks.building_view import BuildingViewEnv

    make_envs, h = setup.make_envs, setup.hyperparameters
    kinds = BuildingKinds.of(site, bool(h["learn_charging"]), float(h["initial_charging"]))  # type: ignore[arg-type]
    agents = len(Parts.of(site, kinds.learn_charging).acting)

    def make_building_envs(count: int) -> VectorEnv[Any, Any, Any]:
        return BuildingViewEnv(make_envs(count // agents), site, kinds)

    return replace(
        setup, make_envs=make_building_envs, chargers=None, agents=agents, keep=kinds.unscaled, steps=setup.steps * agents
    )


def changing_the_plan(setup: Setup, site: District) -> Setup:
    """The same site, which takes changes of the plan that it shows as its storages' actions."""
    make_envs = setup.make_envs

    def make_planned_envs(copies: int) -> VectorEnv[Any, Any, Any]:
        from tuning.algorithms.networks.planned_storages import PlannedStoragesEnv

        return PlannedStoragesEnv(make_envs(copies), site)

    return replace(setup, make_envs=make_planned_envs)


def seen_by_the_policy(setup: Setup) -> Setup:
    """The site as the hyperparameters say that policies see it; a single building has nothing to share."""
    h = setup.hyperparameters
    if setup.planned:
        setup = changing_the_plan(setup, setup.planned)
    if h.get("shared_policy") and setup.district:
        return building_by_building(setup, setup.district)
    return setup if h["learn_charging"] else without_chargers(setup)


def _policy(
    mode: Callable[[np.ndarray], np.ndarray], view: SiteView | BuildingView | None, planned: PlannedStorages | None
) -> Callable[[np.ndarray], np.ndarray]:
    """From observations of a site to its actions."""

    def act(observations: np.ndarray) -> np.ndarray:
        actions = mode(observations) if view is None else view.complete(mode(view.observe(observations)), observations)
        return actions if planned is None else planned.complete(actions, observations)

    return act


def _finite(value: Any) -> float | None:
    """The number, or None where a metric is missing or NaN: nothing was measured."""
    return None if value is None or not math.isfinite(value) else float(value)
