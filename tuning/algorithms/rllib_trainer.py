"""What trainers share that are built on RLlib."""

from __future__ import annotations

import logging
import random
import uuid
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import gymnasium as gym
import numpy as np
import torch
from gymnasium.vector import VectorEnv
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.core.rl_module.torch import TorchRLModule
from ray.tune import register_env

from envs.district import District
from envs.objective.weights import Weights
from envs.seen import Seen
from search_spaces import Assignment
from tuning.algorithms.env_runner import ArrayEnvRunner
from tuning.algorithms.imitation import Demonstrated, Demonstration, demonstrations, take_into_statistics
from tuning.algorithms.networks.building_kinds import BuildingKinds, Parts, UnfitError
from tuning.algorithms.networks.building_view import BuildingView, BuildingViewEnv
from tuning.algorithms.networks.layers import activation_of, layer_sizes
from tuning.algorithms.networks.views import ChangedActions, PlannedActions, ServedDevices, SiteView, ViewEnv
from tuning.algorithms.precision import check_device
from tuning.algorithms.registry import algorithm
from tuning.algorithms.rllib_base import ArrayAlgorithm, ArrayConfig, ArrayLearner, Recipe
from tuning.algorithms.trainer import WHOLE, Acting, Rows, Setup, Trainer, Update, finite

if TYPE_CHECKING:
    from envs.yardsticks.lessons import Lessons
    from tuning.runtime.stopwatch import Stopwatch

T = TypeVar("T")
# By all algorithms, see `RLlibTrainer.read`.
READ = ("log_std_init", "bf16", "torch_compile", "pin_memory", "clip_obs", "reward_scale")


def random_state() -> dict[str, Any]:
    """States of Python's, NumPy's and torch's random numbers, those of GPUs included."""
    version, words, spare = random.getstate()
    return {
        "python": {"version": version, "words": np.array(words, np.uint32), "spare": spare},
        "numpy": np.random.get_state(),
        "torch": torch.get_rng_state().numpy(),
        "cuda": [state.numpy() for state in torch.cuda.get_rng_state_all()] if torch.cuda.is_available() else [],
    }


def set_random_state(state: dict[str, Any]) -> None:
    """Go on from a state of `random_state`; on a machine with other GPUs, theirs stay as they are."""
    python = state["python"]
    random.setstate((python["version"], tuple(python["words"].tolist()), python["spare"]))
    np.random.set_state(state["numpy"])
    torch.set_rng_state(torch.from_numpy(state["torch"].copy()))
    if torch.cuda.is_available() and len(state["cuda"]) == torch.cuda.device_count():
        torch.cuda.set_rng_state_all([torch.from_numpy(generator.copy()) for generator in state["cuda"]])


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
    name: ClassVar[str]  # in the registry
    algorithm_class: ClassVar[type[ArrayAlgorithm]]
    learner_class: ClassVar[type[ArrayLearner[Any]]]
    runner_class: ClassVar[type[ArrayEnvRunner]]
    module_class: ClassVar[type[TorchRLModule]]
    read: ClassVar[tuple[str, ...]]  # hyperparameters that the parts look up when they need them
    setup: Setup  # what it is built from: without chargers, where their actions are not learned
    algorithm: Any  # RLlib's; its `train()` is one update, or several

    def __init__(self, setup: Setup) -> None:
        """Build it. Raises `ValueError` for hyperparameters that cannot be trained together, by name."""
        self.h: dict[str, Any] = dict(setup.hyperparameters)
        check_device(self.h, setup.gpu)
        self.setup = setup = seen_by_the_policy(setup)
        self.num_envs = algorithm(self.name).copies(self.h, setup.most_envs)
        # It prints which of its interfaces is used, before it knows the level below.
        logging.getLogger("ray.rllib").setLevel(logging.ERROR)
        torch.set_float32_matmul_precision("high" if self.h["tf32"] else "highest")
        register_env(ENVIRONMENT, lambda context: setup.make_envs(context["num_envs"]))
        config: Any = ArrayConfig(self.algorithm_class)
        config.recipe = Recipe(self.h, setup.steps, not_normalised(setup), setup.agents, setup.parts, setup.taught)
        # The environment clips actions itself; RLlib doing so once more costs as much as its sampling.
        config.environment(ENVIRONMENT, disable_env_checking=True, normalize_actions=False, clip_actions=False)
        config.env_runners(
            env_runner_cls=self.runner_class,
            gym_env_vectorize_mode=gym.VectorizeMode.VECTOR_ENTRY_POINT,
            num_env_runners=0,
            num_envs_per_env_runner=self.num_envs * setup.agents,
        )
        config.learners(num_learners=0, num_gpus_per_learner=1 if setup.gpu else 0, learner_class=self.learner_class)
        model = {"h": self.h, "chargers": setup.chargers}
        config.module = RLModuleSpec(module_class=self.module_class, model_config=model)
        # A thread for each algorithm would measure the whole machine.
        config.debugging(seed=setup.seed, log_level="ERROR", log_sys_usage=False)
        self.algorithm = config.build_algo()
        self.learner, self.runner = self.algorithm.learner, self.algorithm.runner

    @property
    def view(self) -> SiteView | BuildingView | None:
        """See `Trainer`."""
        return self._of_env("view", SiteView) or self._of_env("view", BuildingView)

    def _of_env(self, name: str, kind: type[T]) -> T | None:
        """An attribute of one of the wrappers around the site's environment; None where none has it."""
        env = self.runner.env
        while not isinstance(value := vars(env).get(name), kind):
            env = getattr(env, "env", None)
            if env is None:
                return None
        return value

    @property
    def weights(self) -> Weights | None:
        """See `Trainer`."""
        return self._of_env("weights", Weights)

    @property
    def shares(self) -> bool:
        """See `Trainer`."""
        return isinstance(self.view, BuildingView)

    def update(self) -> Update:
        """See `Trainer`."""
        # Not `train`, which makes a copy of all settings for each result: up to 1 ms, and nothing of it is read.
        result = self.algorithm.step()
        return Update(int(result["num_env_steps_sampled_lifetime"]) // self.setup.agents, self.losses(result))

    def losses(self, result: dict[str, Any]) -> dict[str, float | int | None]:
        """Columns of a report after an `algorithm.step()`, from its result; None where nothing was measured."""
        means = self.learner.means
        losses: dict[str, float | int | None] = {column: finite(means.get(column)) for column in self.columns}
        losses["gradient_steps"] = int(means.get("gradient_steps", 0))
        losses["episode_return"] = finite(result["env_runners"].get("episode_return_mean"))
        return losses

    def imitate(self, lessons: Lessons) -> None:
        """See `Trainer`."""
        self.begin_as(list(demonstrations(self.runner.env, self.num_envs, lessons)))

    def begin_as(self, parts: list[Demonstration]) -> None:
        """Begin as a copy of what was demonstrated."""
        take_into_statistics(self.runner, parts)
        self.learn_from(Demonstrated(self.runner, parts, self.learner.device))

    @abstractmethod
    def learn_from(self, shown: Demonstrated) -> None:
        """Begin as a copy of a teacher."""

    def mode(self) -> Callable[[np.ndarray], np.ndarray]:
        """The mode of the policy as it is now, from what the algorithm's environment shows to what it takes."""
        network, device = self.mode_network(), self.learner.device
        network.to(device)

        def act(observations: np.ndarray) -> np.ndarray:
            with torch.inference_mode():
                actions: np.ndarray = network(torch.as_tensor(observations, dtype=torch.float32, device=device)).cpu().numpy()
            return actions

        return act

    def policy(self) -> Callable[[np.ndarray], np.ndarray]:
        """See `Trainer`."""
        return _policy(self.mode(), self.view, self.changes)

    def acting_on(self, site: District) -> Acting:
        """See `Trainer`."""
        trained, setup = self.view, self.setup
        if not isinstance(trained, BuildingView):
            raise UnfitError(WHOLE)
        view, changes = BuildingView(trained.kinds, site), _changes(setup.planned and site, setup.served and site)
        return Acting(_policy(self.mode(), view, changes), view, changes)

    @property
    def changes(self) -> ChangedActions | None:
        """See `Trainer`."""
        return self._of_env("view", ChangedActions)

    @abstractmethod
    def held(self) -> Assignment:
        """Hyperparameters as optimizers, networks and buffer of the algorithm hold them, whatever they were told."""

    def used(self) -> Assignment:
        """See `Trainer`."""
        view, runner, network = self.view, self.runner, self.learner.network
        learns_charging, charging = (True, network.charging.initial_charging) if network.site else (None, None)
        if view is not None and view.learns_charging is not None:
            learns_charging, charging = view.learns_charging, view.initial_charging
        values = {
            **{name: self.h[name] for name in (*self.read, *READ)},
            **self.held(),
            "hidden_sizes": ",".join(str(size) for size in layer_sizes(network.policy_layers)),
            "activation": activation_of(network.policy_layers),
            "cuda_graphs": self.learner.records,
            "learn_charging": learns_charging,
            "initial_charging": charging,
            "shared_policy": self.shares,
            "plan": (self._of_env("seen", Seen) or Seen()).plan,
            "normalize_observations": runner.normalizer is not None,
            "normalize_rewards": runner.reward_normalizer is not None,
            "tf32": torch.get_float32_matmul_precision() != "highest",
        }
        # The space of an environment lacks what is of sites.
        return {name: value for name, value in values.items() if name in self.h}

    def begin_episodes(self, number: int) -> None:
        """See `Trainer`."""
        self.runner.begin_episodes(number)

    def get_state(self) -> dict[str, Any]:
        """See `Trainer`."""
        state = {"algorithm": self.algorithm.get_state(not_components=_FORGOTTEN), "random": random_state()}
        return state if self.replay is None else {**state, "replay": self.replay.get_state()}

    def set_state(self, state: dict[str, Any], rows: Rows | None) -> None:
        """See `Trainer`."""
        # The buffer first: the runner acts on its observations.
        if self.replay is not None and rows is not None:
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


def not_normalised(setup: Setup) -> tuple[int, ...]:
    """See `Recipe.keep`."""
    return (tuple(i for places in setup.chargers.observations for i in places) if setup.chargers else ()) + setup.keep


def seen_by_the_policy(setup: Setup) -> Setup:
    """The site as the hyperparameters say that policies see it; a single building has nothing to share.

    As many sites of one building, which share a policy, a step gives a transition of each, which schedules count.
    """
    h, site, chargers = setup.hyperparameters, setup.district, setup.chargers
    charging = float(h.get("initial_charging") or 0.0)
    if changes := _changes(setup.planned, setup.served):
        setup = _viewed(setup, lambda env: ViewEnv(env, changes))
    if h.get("shared_policy") and site:
        kinds = BuildingKinds.of(site, bool(h["learn_charging"]), charging)
        agents, make_envs = len(Parts.of(site, kinds.learn_charging).acting), setup.make_envs
        setup = replace(setup, chargers=None, agents=agents, keep=kinds.unscaled, steps=setup.steps * agents)
        return replace(setup, make_envs=lambda count: BuildingViewEnv(make_envs(count // agents), site, kinds))
    if not chargers or h["learn_charging"]:
        return setup

    def without_chargers(env: Any) -> ViewEnv:
        observations, actions = env.single_observation_space.shape[0], env.single_action_space.shape[0]
        return ViewEnv(env, SiteView(observations, actions, chargers, charging))

    return replace(_viewed(setup, without_chargers), chargers=None)


def _viewed(setup: Setup, view: Callable[[VectorEnv[Any, Any, Any]], ViewEnv]) -> Setup:
    make_envs = setup.make_envs
    return replace(setup, make_envs=lambda copies: view(make_envs(copies)))


def _changes(planned: District | None, served: District | None) -> ChangedActions | None:
    """See `Acting`. A plan says what thermal devices do too."""
    return PlannedActions(planned) if planned else ServedDevices(served) if served else None


def _policy(
    mode: Callable[[np.ndarray], np.ndarray], view: SiteView | BuildingView | None, changes: ChangedActions | None
) -> Callable[[np.ndarray], np.ndarray]:
    def act(observations: np.ndarray) -> np.ndarray:
        actions = mode(observations) if view is None else view.complete(mode(view.observe(observations)), observations)
        return actions if changes is None else changes.complete(actions, observations)

    return act
