"""How a card is filled best: K processes that share it, or K trials of one shape as one batched program in one process.

Run: `uv run --group benchmarks python benchmarks/shared_card.py --device cuda`. The processes are real trials without their
evaluations. The batched program is only its gradient steps, over random data that is on the card already, with all its kernels
started one by one or as one CUDA graph; K of its trials collect in the time of one. So its rate is what such a program could
reach at best. Quote the ratios.
"""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"

import ray
import torch
import tyro
from torch import nn

SCENARIO, COPIES, STEPS = "iquitos", 32, 250_000
GIVEN: dict[str, dict[str, Any]] = {"ppo": {}, "a2c": {}, "sac": {"learning_starts": 256, "buffer_size": 50_000}}


@dataclass(frozen=True)
class Options:
    """What to run."""

    trials: tuple[int, ...] = (1, 2, 4, 8, 16)
    """Trials at once, K."""
    algos: tuple[str, ...] = ("ppo", "sac")
    """Algorithms."""
    hidden_sizes: str = "128,128"
    """Units of the hidden layers."""
    seconds: float = 5.0
    """Time that each K is measured."""
    device: str = "cpu"
    """Where they learn: cpu or cuda."""
    graphs: bool = False
    """Whether the processes record their gradient steps, `cuda_graphs`."""


class Trial:
    """A real trial: it collects by its own core and learns where the options say."""

    def __init__(
        self, algo: str, hidden_sizes: str, cuda: bool, graphs: bool = False, updates: int = 3, steps: int = STEPS
    ) -> None:
        from envs.task import SiteTask
        from tuning.algorithms.registry import algorithm
        from tuning.algorithms.trainer import Setup

        torch.set_num_threads(1)
        given = {**GIVEN[algo], "hidden_sizes": hidden_sizes, "cuda_graphs": graphs}
        self.h = algorithm(algo).space.complete(given, {"steps": float(STEPS)})
        task = SiteTask(SCENARIO)
        trainer: Any = algorithm(algo).build(Setup(self.h, task.training_env, COPIES, steps, 0, cuda, task.layout().chargers))
        self.algorithm, self.learning = trainer.algorithm, 0.0
        learner = trainer.learner
        learn = learner.learn

        def timed(*args: Any) -> None:
            start = time.perf_counter()
            learn(*args)
            self.learning += time.perf_counter() - start

        learner.learn = timed
        for _ in range(updates):
            self.algorithm.train()

    def run(self, seconds: float) -> tuple[float, float]:
        """Steps of the site a second, and the part of the time that it learned."""
        begun, before, self.learning = time.perf_counter(), self.algorithm.sampled, 0.0
        while (taken := time.perf_counter() - begun) < seconds:
            self.algorithm.train()
        return (self.algorithm.sampled - before) / taken, self.learning / taken

    def shapes(self) -> tuple[int, int, dict[str, Any]]:
        """Features and actions of the learner, and the hyperparameters."""
        network = self.algorithm.learner.network
        return network.observation_space.shape[0], network.action_space.shape[0], self.h


class Perceptrons(nn.Module):
    """K perceptrons of one shape, their parameters as one matrix with a row for each."""

    def __init__(self, trials: int, sizes: list[int], relu: bool) -> None:
        super().__init__()
        self.shapes = [(a, b) for a, b in pairwise(sizes)]
        self.activation = torch.relu if relu else torch.tanh
        self.matrix = nn.Parameter(torch.randn(trials, sum((a + 1) * b for a, b in self.shapes)) * 0.05)

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        """Outputs of each for its own rows, shape (K, rows, outputs)."""
        offset, trials = 0, len(self.matrix)
        for number, (a, b) in enumerate(self.shapes):
            weight = self.matrix[:, offset : offset + a * b].view(trials, a, b)
            bias = self.matrix[:, offset + a * b : offset + (a + 1) * b].view(trials, 1, b)
            rows, offset = torch.baddbmm(bias, rows, weight), offset + (a + 1) * b
            rows = self.activation(rows) if number < len(self.shapes) - 1 else rows
        return rows


def take_step(optimizer: torch.optim.Optimizer, most: float | None, *of: nn.Parameter) -> None:
    """One step of all K, the gradient of each cut to its own norm."""
    if most is not None:
        norm = torch.stack([own.grad.square().sum(dim=1) for own in of]).sum(dim=0).sqrt()  # type: ignore[union-attr]
        for own in of:
            own.grad.mul_((most / (norm + 1e-6)).clamp(max=1.0)[:, None])  # type: ignore[union-attr]
    optimizer.step()
    optimizer.zero_grad(set_to_none=False)


def adam(*parameters: nn.Parameter) -> torch.optim.Adam:
    """Its step can be part of a graph on a card."""
    for own in parameters:
        own.grad = torch.zeros_like(own)
    return torch.optim.Adam(parameters, lr=3e-4, fused=True, capturable=parameters[0].is_cuda)


def ppo_step(trials: int, features: int, actions: int, h: dict[str, Any], sizes: list[int]) -> Callable[[], None]:
    """A gradient step of K learners of PPO."""
    policy, value = (Perceptrons(trials, [features, *sizes, out], h["activation"] == "relu") for out in (actions, 1))
    log_std = nn.Parameter(torch.zeros(trials, actions))
    optimizer = adam(policy.matrix, value.matrix, log_std)
    count, size = h["n_steps"], h["batch_size"]
    seen, acted = torch.randn(trials, count, features), torch.randn(trials, count, actions)
    logp, targets, weights = torch.randn(trials, count), torch.randn(trials, count), torch.randn(trials, count)
    own = torch.arange(trials)[:, None]

    def step() -> None:
        rows = torch.randint(count, (trials, size))
        observed, gain = seen[own, rows], weights[own, rows]
        gain = (gain - gain.mean(dim=1, keepdim=True)) / (gain.std(dim=1, keepdim=True) + 1e-8)
        distance = (acted[own, rows] - policy(observed)) / log_std.exp()[:, None]
        now = -0.5 * distance.square().sum(dim=-1) - log_std.sum(dim=-1)[:, None]
        ratio = (now - logp[own, rows]).clamp(-1.0, 1.0).exp()
        gained = torch.min(gain * ratio, gain * ratio.clamp(0.8, 1.2)).mean(dim=1)
        missed = (value(observed).squeeze(-1) - targets[own, rows]).square().mean(dim=1)
        (0.5 * missed - gained).sum().backward()
        take_step(optimizer, h["max_grad_norm"], policy.matrix, value.matrix, log_std)

    return step


def sac_step(trials: int, features: int, actions: int, h: dict[str, Any], sizes: list[int]) -> Callable[[], None]:
    """A gradient step of K learners of SAC, with the two critics of each as two of 2 K perceptrons."""
    relu = h["activation"] == "relu"
    policy = Perceptrons(trials, [features, *sizes, 2 * actions], relu)
    critics, targets = (Perceptrons(2 * trials, [features + actions, *sizes, 1], relu) for _ in range(2))
    targets.requires_grad_(False)
    log_alpha = nn.Parameter(torch.zeros(trials, 1))
    optimizers = adam(policy.matrix), adam(critics.matrix), adam(log_alpha)
    count, size = 10_000, h["batch_size"]
    seen, after = torch.randn(trials, count, features), torch.randn(trials, count, features)
    acted, rewards = torch.rand(trials, count, actions), torch.randn(trials, count)
    own = torch.arange(trials)[:, None]

    def draw(observed: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        mean, log_std = policy(observed).chunk(2, dim=-1)
        log_std = log_std.clamp(-20.0, 2.0)
        noise = torch.randn_like(mean)
        drawn = mean + log_std.exp() * noise
        squashing = 2.0 * (0.693 - drawn - nn.functional.softplus(-2.0 * drawn))
        return drawn.tanh(), (-0.5 * noise.square() - log_std - squashing).sum(dim=-1)

    def values(of: Perceptrons, observed: torch.Tensor, did: torch.Tensor) -> torch.Tensor:
        return of(torch.cat((observed, did), dim=-1).repeat(2, 1, 1)).view(2, trials, size)

    def step() -> None:
        rows = torch.randint(count, (trials, size))
        observed, alpha = seen[own, rows], log_alpha.detach().exp()
        with torch.no_grad():
            later = after[own, rows]
            did, logp = draw(later)
            wanted = rewards[own, rows] + 0.99 * (values(targets, later, did).amin(dim=0) - alpha * logp)
        (0.5 * (values(critics, observed, acted[own, rows]) - wanted).square().mean(dim=2)).sum().backward()
        take_step(optimizers[1], h["max_grad_norm"], critics.matrix)
        critics.requires_grad_(False)
        did, logp = draw(observed)
        (alpha * logp - values(critics, observed, did).amin(dim=0)).mean(dim=1).sum().backward()
        take_step(optimizers[0], h["max_grad_norm"], policy.matrix)
        critics.requires_grad_(True)
        (-log_alpha * (logp.detach() - actions).mean(dim=1, keepdim=True)).sum().backward()
        take_step(optimizers[2], None, log_alpha)
        targets.matrix.data.lerp_(critics.matrix.data, h["tau"])

    return step


STEPS_OF = {"ppo": ppo_step, "sac": sac_step}


def as_graph(step: Callable[[], None]) -> Callable[[], None]:
    """The same as one CUDA graph."""
    aside = torch.cuda.Stream()
    aside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(aside):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(aside)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay


def seconds_of(step: Callable[[], None], seconds: float) -> float:
    """Seconds of a gradient step."""
    for _ in range(5):
        step()
    wait = torch.cuda.synchronize if torch.cuda.is_available() else lambda: None
    wait()
    begun, count = time.perf_counter(), 0
    while time.perf_counter() - begun < seconds:
        for _ in range(10):
            step()
        wait()
        count += 10
    return (time.perf_counter() - begun) / count


def start_ray(processes: int, cuda: bool) -> None:
    """Start Ray with room for so many processes."""
    environment = {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join((str(Path.cwd()), os.environ.get("PYTHONPATH", "")))}
    ray.init(
        num_cpus=processes, num_gpus=int(cuda), include_dashboard=False, object_store_memory=150 * 2**20, log_to_driver=False,
        runtime_env={"env_vars": environment},
    )  # fmt: skip


def main() -> None:
    options = tyro.cli(Options)
    cuda, most = options.device == "cuda", max(options.trials)
    start_ray(most, cuda)
    torch.set_num_threads(1)
    actor: Any = ray.remote(Trial)
    sizes = [int(size) for size in options.hidden_sizes.split(",")]
    for algo in options.algos:
        place = actor.options(num_cpus=1, num_gpus=1.0 / most if cuda else 0)
        trials = [place.remote(algo, options.hidden_sizes, cuda, options.graphs) for _ in range(most)]
        features, actions, h = ray.get([trial.shapes.remote() for trial in trials])[0]
        steps_per_update = {"ppo": "n_steps", "sac": "train_freq"}[algo]
        per_step = (
            h["n_epochs"] * max(1, round(h["n_steps"] / h["batch_size"])) / h["n_steps"]
            if algo == "ppo" else h["gradient_steps"] / h["train_freq"]
        )  # fmt: skip
        print(f"{algo} {sizes}, {features} features, {actions} actions, batch {h['batch_size']}, {h[steps_per_update]} steps")
        collecting = 0.0
        for count in options.trials:
            found = ray.get([trial.run.remote(options.seconds) for trial in trials[:count]])
            together = sum(rate for rate, _ in found)
            if count == options.trials[0]:
                collecting = (1.0 - found[0][1]) / found[0][0]  # seconds a step of the site
            line = f"  K={count}: processes {together:,.0f} steps/s, {sum(part for _, part in found) / count:.0%} learning"
            with torch.device(options.device):
                step = STEPS_OF[algo](count, features, actions, h, sizes)
                kinds = {"batched": step, **({"as a graph": as_graph(step)} if cuda else {})}
                for name, kind in kinds.items():
                    taken = seconds_of(kind, options.seconds / 2)
                    rate = count / (collecting + per_step * taken)
                    line += f"; {name} {1e3 * taken:.2f} ms a step, at best {rate:,.0f} steps/s: {rate / together:.2f} times"
            print(line, flush=True)
        for trial in trials:
            ray.kill(trial)
    ray.shutdown()


if __name__ == "__main__":
    main()
