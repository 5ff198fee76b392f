"""Stable-Baselines3's PPO with Optuna, sampled and pruned as rl-baselines3-zoo does; a process for each core, on one journal.

Observations lie within -1 and 1 already, so nothing normalises them. Policies act on everything that the site has.
"""

import multiprocessing
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import optuna

from benchmarks.real_searches import zoo
from benchmarks.real_searches.records import RealSearchError, Task, Winner

JOURNAL, STUDY = "study.journal", "sb3"
DRAWN, STEPS, SEED = "drawn", "steps", "seed"  # attributes of a trial
# That a process may take beyond the time, for an update that it is in. What it evaluates after the time does not count.
GRACE_SECONDS, GRACE_PART = 120.0, 0.5


def search(task: Task) -> Winner:
    """Search until the time is over; the best evaluation wins, at whatever time of its trial.

    Raises:
        RealSearchError: if a process failed, or nothing was evaluated.
    """
    journal = task.folder / JOURNAL
    _study(journal, task, 0)
    # Not forked: torch has threads.
    context = multiprocessing.get_context("spawn")
    ready, begin, spent = context.Semaphore(0), context.Event(), context.Value("q", 0)
    workers = [
        context.Process(target=_work, args=(task, journal, number, ready, begin, spent), daemon=True)
        for number in range(task.terms.cores)
    ]
    for worker in workers:
        worker.start()
    for _ in workers:
        while not ready.acquire(timeout=1.0):
            if any(other.exitcode not in (None, 0) for other in workers):
                raise RealSearchError(f"{task.folder}: a process of the search failed; its log is beside it")
    # As with the others, importing is not part of the time.
    begin.set()
    for worker in workers:
        worker.join((1.0 + GRACE_PART) * task.terms.seconds + GRACE_SECONDS if task.terms.seconds else None)
        if worker.exitcode != 0:
            raise RealSearchError(f"{task.folder}: a process of the search ended with {worker.exitcode}; its log is beside it")
    return winner_of(_study(journal, task, 0), task.terms.steps)


def winner_of(study: optuna.Study, most_steps: int) -> Winner:
    """The best evaluation of a study, and what it was of.

    Raises:
        RealSearchError: if there is none.
    """
    trials = study.get_trials(deepcopy=False)
    evaluated = [(score, -number, trial) for trial in trials for number, score in trial.intermediate_values.items()]
    if not evaluated:
        raise RealSearchError("sb3: nothing was evaluated within the time; give a larger --budget, or fewer --steps")
    score, number, trial = max(evaluated, key=lambda own: (own[0], own[1], -own[2].number))
    return Winner(
        library="stable-baselines3",
        hyperparameters=trial.user_attrs[DRAWN],
        steps=trial.user_attrs[STEPS][-number - 1],
        most_steps=most_steps,
        score=score,
        trials=len(trials),
        evaluations=len(evaluated),
        trained_steps=sum((trial.user_attrs.get(STEPS) or [0])[-1] for trial in trials),
    )


def trial_seed(seed: int, number: int) -> int:
    """Seed of a trial."""
    import numpy as np

    return int(np.random.SeedSequence([seed, number]).generate_state(1)[0] >> 1)


def _study(journal: Path, task: Task, worker: int) -> optuna.Study:
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend, JournalFileOpenLock

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    # This lock needs no links, so it works on every file system and system.
    storage = JournalStorage(JournalFileBackend(str(journal), lock_obj=JournalFileOpenLock(str(journal))))
    return optuna.create_study(
        storage=storage, study_name=STUDY, load_if_exists=True, direction="maximize",
        sampler=zoo.sampler(task.seed * task.terms.cores + worker), pruner=zoo.pruner(task.terms.evaluations),
    )  # fmt: skip


def _work(task: Task, journal: Path, worker: int, ready: Any, begin: Any, spent: Any) -> None:
    """Run one trial after another until the budget is spent; `spent` are the steps of all processes."""
    from tuning.runtime.processes import end_with_parent

    end_with_parent()
    import torch

    torch.set_num_threads(1)
    from benchmarks.real_searches.sb3_training import model_of, rating_env

    study = _study(journal, task, worker)
    env = rating_env(task.scenario, "validation", task.terms.validation_weeks)
    # Compiled code and tables are loaded before the time begins, as for the others.
    model_of(task.scenario, zoo.sampled(optuna.trial.FixedTrial(_ANY)), 0)  # type: ignore[arg-type]
    ready.release()
    begin.wait()
    started = time.monotonic()

    def is_over() -> bool:
        return task.terms.is_over(time.monotonic() - started, spent.value)

    while not is_over():
        _run(study, task, env, spent, is_over)


_ANY = {
    "batch_size": 64, "n_steps": 32, "clip_range": 0.2, "n_epochs": 1, "net_arch": "tiny", "activation_fn": "tanh",
    "one_minus_gamma": 0.01, "one_minus_gae_lambda": 0.05, "learning_rate": 3e-4, "ent_coef": 1e-8, "max_grad_norm": 0.5,
}  # fmt: skip


def _run(study: optuna.Study, task: Task, env: Any, spent: Any, is_over: Callable[[], bool]) -> None:
    from benchmarks.real_searches.sb3_training import Evaluated, Evaluations, model_of

    trial = study.ask()
    drawn = zoo.sampled(trial)
    seed = trial_seed(task.seed, trial.number)
    trial.set_user_attr(DRAWN, drawn)
    trial.set_user_attr(SEED, seed)
    found: list[Evaluated] = []
    pruned = False

    def on_evaluated(evaluated: Evaluated) -> bool:
        nonlocal pruned
        with spent.get_lock():
            spent.value += evaluated.steps - (found[-1].steps if found else 0)
        found.append(evaluated)
        # Before the report, which makes it a candidate.
        trial.set_user_attr(STEPS, [own.steps for own in found])
        trial.report(evaluated.score, evaluated.number)
        pruned = trial.should_prune()
        return not pruned

    terms = task.terms
    callback = Evaluations(env, terms.steps, terms.evaluations, on_evaluated, is_over)
    model = model_of(task.scenario, drawn, seed)
    try:
        # More than enough: the last evaluation ends it.
        model.learn(10 * terms.steps + 1_000_000, callback=callback)
    except (AssertionError, ValueError) as error:
        # Some drawn hyperparameters give numbers that are not finite; the zoo prunes them too.
        print(f"trial {trial.number} diverged: {error}", flush=True)
        pruned = True
    if pruned or len(found) < terms.evaluations:
        study.tell(trial, state=optuna.trial.TrialState.PRUNED)
    else:
        study.tell(trial, found[-1].score)
    print(f"trial {trial.number}: {[f'{own.score:+.4f}' for own in found]}{' pruned' if pruned else ''}", flush=True)
