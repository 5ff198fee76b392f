"""Every term of the model against tensors that were counted."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
import torch

from envs.observation import ChargerGroups
from tests.tuning.algorithms.match import FEATURES, MatchVectorEnv, groups
from tuning.algorithms.memory_terms import Workload
from tuning.algorithms.networks.shared_network import as_layers
from tuning.algorithms.on_policy.batch import Batch
from tuning.algorithms.registry import algorithm
from tuning.algorithms.sac.memory import replay_bytes
from tuning.algorithms.sac.prioritized_replay import Prioritization
from tuning.algorithms.sac.replay_buffer import ReplayBuffer
from tuning.algorithms.trainer import Setup, Trainer
from tuning.memory.model import predict, problem_of
from tuning.memory.prediction import Prediction
from tuning.memory.scenario_sizes import Sizes

pytestmark = pytest.mark.usefixtures("small_ray")

CHARGERS, COPIES, STEPS = 24, 8, 4096
TOLERANCE = 0.02

CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "ppo": ("ppo", {}),
    "ppo, wide": ("ppo", {"hidden_sizes": "256,128,64", "activation": "silu", "state_dependent_std": True}),
    "ppo, shared": ("ppo", {"shared_layers": True, "clip_range_vf": 0.2, "target_kl": 0.02, "activation": "relu"}),
    "ppo, chargers": ("ppo", {"learn_charging": True}),
    "ppo, bf16": ("ppo", {"bf16": True}),
    "ppo, chargers, bf16": ("ppo", {"learn_charging": True, "bf16": True}),
    "a2c": ("a2c", {"n_steps": 1024}),
    "a2c, adam, chunks": ("a2c", {"n_steps": 1024, "batch_size": 256, "optimizer": "adam"}),
    "a2c, chargers": ("a2c", {"n_steps": 1024, "learn_charging": True, "shared_layers": True, "hidden_sizes": "64,64"}),
    "sac": ("sac", {}),
    "sac, wide": ("sac", {"hidden_sizes": "256,128,64", "activation": "silu", "ent_coef": 0.01}),
    "sac, chargers": ("sac", {"learn_charging": True}),
    "sac, chargers, bf16": ("sac", {"learn_charging": True, "bf16": True}),
    "sac, bf16": ("sac", {"bf16": True, "batch_size": 512}),
    "sac, tanh": ("sac", {"activation": "tanh", "prioritized_replay": True, "n_step": 3}),
}


def assignment(algo: str, **given: Any) -> dict[str, Any]:
    learning = {"learning_starts": 100, "buffer_size": 5000, "train_freq": 64} if algo == "sac" else {"n_steps": 1024}
    return dict(algorithm(algo).space.complete({**learning, **given}, {"steps": float(STEPS)}))


def site(groups_: ChargerGroups | None) -> Sizes:
    chargers = len(groups_.actions) if groups_ else 0
    return Sizes(FEATURES + chargers, 1 + chargers, chargers, 1 if groups_ else 0, 1, 0, 0, 0, 0, 0)


def trainer(algo: str, h: dict[str, Any], parts: int = 1) -> Trainer:
    chargers = groups(CHARGERS) if h["learn_charging"] else None
    return algorithm(algo).build(
        Setup(
            h, lambda n: MatchVectorEnv(n, chargers=CHARGERS if chargers else 0), COPIES, STEPS, 0, False, chargers, parts
        ),
    )  # fmt: skip


def predicted(algo: str, h: dict[str, Any], gpu: bool = True, parts: int = 1) -> Prediction:
    sizes = site(groups(CHARGERS) if h["learn_charging"] else None)
    copies = COPIES
    return predict(algorithm(algo), h, Workload(copies, STEPS, 2, 4, gpu, parts), sizes)


def term(prediction: Prediction, name: str) -> int:
    return next(term.nbytes for term in prediction.terms if term.name == name)


def nbytes(tensors: Iterable[torch.Tensor]) -> int:
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors)


class Kept:
    """Counts what a backward pass keeps, each piece of memory once, beside what was there before."""

    def __init__(self, before: Iterable[Any]) -> None:
        self._before = {tensor.untyped_storage().data_ptr() for tensor in before if isinstance(tensor, torch.Tensor)}
        self._found: dict[int, tuple[int, torch.Tensor]] = {}

    def pack(self, tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in self._before:
            # Held on to, so that no other memory gets its address.
            self._found[storage.data_ptr()] = storage.nbytes(), tensor
        return tensor

    @property
    def nbytes(self) -> int:
        return sum(size for size, _ in self._found.values())


def keeping(trained: Any, algo: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the first gradient of the next update keeps, and the batch that it was of."""
    learner = trained.learner if algo != "sac" else trained.algorithm.learner
    seen: dict[str, Any] = {}

    def watch(name: str, batch: int) -> None:
        inner = getattr(learner, name)

        def watched(*arguments: Any) -> Any:
            module = learner.network
            before = [*module.parameters(), *module.buffers(), *vars(arguments[batch]).values()]
            if algo == "sac":
                flat = [*learner._flat.values(), learner._targets]
                before += [tensor for each in flat for tensor in (each.vector, each.vector.grad)]
            kept = Kept(before)
            with torch.autograd.graph.saved_tensors_hooks(kept.pack, lambda tensor: tensor):
                result = inner(*arguments)
            if kept.nbytes > seen.get("kept", 0):
                seen.update(kept=kept.nbytes, batch=arguments[batch])
            return result

        monkeypatch.setattr(learner, name, watched)

    for name in ("_gradient",) if algo != "sac" else ("_critic_step", "_actor_step"):
        watch(name, 0)
    trained.algorithm.train()
    return seen


@pytest.mark.parametrize("case", CASES)
def test_what_a_learner_holds_and_what_its_gradients_keep(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    algo, given = CASES[case]
    h = assignment(algo, **given)
    trained: Any = trainer(algo, h)
    try:
        for _ in range(2):
            trained.algorithm.train()
        learner = trained.learner if algo != "sac" else trained.algorithm.learner
        found, network = predicted(algo, h), learner.network
        learned = [parameter for parameter in network.parameters() if parameter.requires_grad]
        assert term(found, "weights") == nbytes(learned)
        assert term(found, "gradients") == nbytes(learned)
        states = [t for optimizer in learner._named_optimizers.values() for s in optimizer.state.values() for t in s.values()]
        # Beside counters of steps.
        held = nbytes(tensor for tensor in states if isinstance(tensor, torch.Tensor) and tensor.numel() > 1)
        assert held == pytest.approx(term(found, "optimizer"), rel=TOLERANCE)
        if algo == "sac":
            assert term(found, "target networks") == nbytes(network.targets.parameters())
        check_gradients(trained, algo, h, gpu=False)
        if h["learn_charging"]:
            # As on a card.
            monkeypatch.setattr("tuning.algorithms.networks.layers.shared_network", as_layers)
            check_gradients(trained, algo, h, gpu=True)
    finally:
        trained.stop()


def check_gradients(trained: Any, algo: str, h: dict[str, Any], gpu: bool) -> None:
    with pytest.MonkeyPatch.context() as patched:
        seen = keeping(trained, algo, patched)
    found = predicted(algo, h, gpu)
    assert seen["kept"] == pytest.approx(term(found, "activations"), rel=TOLERANCE)
    of_batch = nbytes(tensor for tensor in vars(seen["batch"]).values() if tensor is not None)
    if algo == "ppo":
        assert of_batch == pytest.approx(term(found, "minibatch"), rel=TOLERANCE)
    elif algo == "sac":
        at_once = 1 if h["prioritized_replay"] else h["gradient_steps"]
        assert of_batch * at_once == pytest.approx(term(found, "batches"), rel=TOLERANCE)


@pytest.mark.parametrize("algo", ["ppo", "a2c", "sac"])
def test_pieces_keep_a_piece_and_give_the_same_gradient(algo: str, monkeypatch: pytest.MonkeyPatch) -> None:
    h = assignment(algo)
    weights, kept = [], []
    for parts in (1, 2):
        trained: Any = trainer(algo, h, parts)
        try:
            with pytest.MonkeyPatch.context() as patched:
                if algo != "sac":
                    kept.append(keeping(trained, algo, patched)["kept"])
                else:
                    trained.algorithm.train()
            network = trained.learner.network if algo != "sac" else trained.algorithm.learner.network
            weights.append(torch.cat([p.detach().flatten() for p in network.parameters()]))
        finally:
            trained.stop()
        if algo != "sac":
            expected = term(predicted(algo, h, gpu=False, parts=parts), "activations")
            assert kept[-1] == pytest.approx(expected, rel=TOLERANCE)
    assert not torch.equal(*weights) or algo == "sac"
    torch.testing.assert_close(*weights, rtol=0.0, atol=2e-4)


@pytest.mark.parametrize("algo", ["ppo", "a2c"])
def test_a_rollout(algo: str, monkeypatch: pytest.MonkeyPatch) -> None:
    h = assignment(algo)
    trained: Any = trainer(algo, h)
    try:
        learner, made = trained.learner, []
        inner = learner.make_batch
        monkeypatch.setattr(learner, "make_batch", lambda episodes: made.append(inner(episodes)) or made[-1])
        trained.algorithm.train()
        (batch,) = made
        assert isinstance(batch, Batch)
        held = nbytes(vars(batch).values())
        assert held == pytest.approx(term(predicted(algo, h), "rollout to learn from"), rel=TOLERANCE)
    finally:
        trained.stop()


@pytest.mark.parametrize(("size", "copies", "prioritized"), [(1000, 8, False), (1001, 8, True), (10_000, 1, True)])
def test_a_replay_buffer(size: int, copies: int, prioritized: bool) -> None:
    buffer = ReplayBuffer(size, copies, 17, 5, 0.99, prioritization=Prioritization(0.6, 0.4) if prioritized else None)
    assert replay_bytes(size, copies, 17, 5, prioritized) == buffer.nbytes


def test_a_buffer_takes_no_more_than_the_budget_fills() -> None:
    small, large = (predicted("sac", assignment("sac", buffer_size=size)) for size in (5000, 1_000_000))
    assert term(small, "replay buffer") <= term(large, "replay buffer") < 1.1 * term(small, "replay buffer")


def test_a_gpu_takes_the_learners_terms_off_the_host() -> None:
    h = assignment("ppo")
    on_card, on_host = predicted("ppo", h), predicted("ppo", h, gpu=False)
    assert on_host.vram == 0
    moved = {term.name for term in on_host.terms} - {term.name for term in on_card.terms if term.place == "ram"}
    assert {"weights", "gradients", "optimizer", "activations", "minibatch"} <= moved
    assert {term.name for term in on_card.terms if term.place == "vram"} >= {*moved, "CUDA context", "allocator"}
    # A replay buffer is never on the card.
    assert term(predicted("sac", assignment("sac")), "replay buffer") > 0
    assert all(t.place == "ram" for t in predicted("sac", assignment("sac")).terms if t.name == "replay buffer")


def test_sites_whose_charging_is_not_learned_are_seen_without_their_chargers() -> None:
    sizes = Sizes(
        observations=536, actions=129, chargers=128, charger_features=4, training_years=3, sessions=0,
        year_bytes=0, joined_bytes=0, single_bytes=0, copy_bytes=0,
    )  # fmt: skip
    seen = problem_of({"learn_charging": False}, sizes)
    assert (seen.observations, seen.actions, seen.inputs, seen.chargers) == (28, 1, 28, 0)
    learned = problem_of({"learn_charging": True}, sizes)
    assert (learned.observations, learned.actions, learned.inputs, learned.chargers) == (536, 129, 28, 128)


def test_the_numbers_of_a_formula_are_in_its_words() -> None:
    found = predicted("sac", assignment("sac"))
    for name in ("weights", "gradients", "optimizer", "target networks"):
        words = next(t.formula for t in found.terms if t.name == name)
        factors = [int(part.replace(",", "").split()[0]) for part in words.split(" x ")]
        assert int(np.prod(factors)) == term(found, name), words
