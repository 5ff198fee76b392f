"""Texts that people and shells read: words that are wrong, numbers, and commands that work as they are printed."""

import difflib
import math
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Final


def _by_word(table: Mapping[str, str]) -> dict[str, list[str]]:
    """Names by each word that stands for them, of a table of words by names; spaces part both."""
    return {word: names.split() for names, words in table.items() for word in words.split()}


# Words of Stable-Baselines3, RLlib, Optuna and others, and what they are called here: hyperparameters, of which not every
# algorithm has each, and options of `tuning.run`.
ELSEWHERE: Final = _by_word(
    {
        "learning_rate": "lr step_size critic_lr",
        "actor_learning_rate": "actor_lr policy_lr",
        "alpha_learning_rate": "alpha_lr",
        "learning_rate_schedule": "lr_schedule anneal_lr",
        "batch_size": "minibatch_size mini_batch_size sgd_minibatch_size",
        "n_steps batch_size": "train_batch_size train_batch_size_per_learner",
        "n_steps train_freq": "rollout_fragment_length rollout_length num_steps",
        "n_epochs": "num_epochs num_sgd_iter update_epochs epochs",
        "gamma": "discount discount_factor",
        "gae_lambda": "lambda lambda_ lam",
        "clip_range": "clip_param clip_coef clip_eps eps_clip",
        "clip_range_vf": "vf_clip_param clip_vloss",
        "ent_coef": "entropy_coeff entropy_coef alpha temperature",
        "ent_coef_initial": "initial_alpha init_temperature",
        "vf_coef": "vf_loss_coeff value_coef value_loss_coef",
        "max_grad_norm": "grad_clip clip_grad gradient_clip",
        "buffer_size": "replay_buffer_capacity buffer_capacity capacity replay_size memory_size",
        "learning_starts": "num_steps_sampled_before_learning_starts start_steps warmup_steps",
        "gradient_steps": "training_intensity updates_per_step utd_ratio",
        "tau": "polyak",
        "hidden_sizes": "net_arch fcnet_hiddens head_fcnet_hiddens hidden_layers hidden_units",
        "activation": "activation_fn fcnet_activation",
        "optimizer": "use_rms_prop optimizer_class",
        "orthogonal_init": "ortho_init",
        "shared_layers": "vf_share_layers",
        "state_dependent_std": "use_sde free_log_std",
        "normalize_observations": "norm_obs observation_filter",
        "normalize_rewards": "norm_reward",
        "bf16": "amp fp16 mixed_precision",
        "--num-envs": "n_envs num_envs num_envs_per_env_runner num_envs_per_worker",
        "--steps": "steps total_timesteps timesteps num_env_steps",
        "--trials": "n_trials num_samples",
        "--budget": "timeout time_budget_s",
        "--scheduler": "pruner",
        "--objective": "metric direction",
        "--evaluations": "reports n_evals eval_freq evaluation_interval",
        "--concurrency": "n_jobs num_workers max_concurrent_trials",
        "--scenario": "schema dataset site",
        "--env": "env_id environment env_name",
        "--env-config": "env_kwargs env_args",
        "--algo": "algorithm agent",
        "--name": "study_name experiment_name",
        "--dir": "output_dir log_dir storage_path",
        "--weights": "reward_weights",
        "--track": "wandb wandb_project_name mlflow tensorboard tensorboard_log csv progress_csv",
    }
)
_OF_KPIS: Final = _by_word({"bill": "cost costs electricity_cost price", "co2_kg": "carbon emission emissions"})
# What others have as an option and we have not: what to do in its place.
INSTEAD: Final = dict.fromkeys(
    ("cuda", "gpu", "gpus", "n_gpus", "num_gpus", "num_gpus_per_learner"),
    "a card is used where there is one, as far as --gpu-memory allows; --device cpu does without",
) | {"reward_share": "a search with two objectives has it, as by --objective co2 bill; there --set reward_share=0.5 fixes it"}
_HYPERPARAMETERS: Final = {name for names in ELSEWHERE.values() for name in names if not name.startswith("--")}
_MARKDOWN = re.compile(r"[\\`*|<>\[\]]")  # what ends a cell of a table, or begins code, emphasis, a link or HTML


def printable(text: str) -> str:
    """A text of one line with escapes for what cannot be printed: it can neither act on a terminal nor look like our lines."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def note(text: str) -> None:
    """Say on standard error what did not stop the command."""
    print(f"note: {printable(text)}", file=sys.stderr)


def hint(word: str, known: Iterable[str], otherwise: str = "") -> str:
    """What to do about a wrong word: take what other libraries call so, else the nearest, else `otherwise`, or one of all.

    An option may be typed as a hyperparameter, and a hyperparameter as an option.
    """
    words, plain = list(known), word.lstrip("-").replace("-", "_").lower()
    meant = [plain] if plain in words else ELSEWHERE.get(plain, [])
    of_hyperparameters = not _HYPERPARAMETERS.isdisjoint(words)
    if plain in INSTEAD and plain not in words and (of_hyperparameters or "--scenario" in words):
        return INSTEAD[plain]
    if word.startswith("--"):
        named = [plain] if plain in _HYPERPARAMETERS else meant
        meant = [name if name.startswith("--") else f"--set {name}=..." for name in named]
        meant = [name for name in meant if name.split()[0] in words]
        # A word that is known here is no misspelling, so nothing like it is proposed.
        spelt = {f"--{name}": f"--set {name}=..." for name in _HYPERPARAMETERS if "--set" in words} | {
            one: one for one in words
        }
        near = [] if named else [spelt[one] for one in difflib.get_close_matches(word, spelt, n=1)]
    else:
        meant = [name for name in meant if name in words or (of_hyperparameters and name.startswith("--"))]
        meant = meant or [name for name in _OF_KPIS.get(plain, []) if name in words]
        near = difflib.get_close_matches(word, words, n=1)
        if of_hyperparameters and plain in _HYPERPARAMETERS:
            near, otherwise = [], f"it is of another algorithm; there are {', '.join(words)}"
    suggestions = meant or near
    return f"did you mean {suggestions[0]}?" if suggestions else otherwise or f"there are {', '.join(words)}"


def markdown(text: str) -> str:
    """A text of one line for Markdown, in which it stands for itself: no link, no HTML, and no end of a table's cell."""
    return _MARKDOWN.sub(r"\\\g<0>", printable(text))


def option(name: str) -> str:
    """The option of a field."""
    return f"--{name.replace('_', '-')}"


def option_words(name: str, value: object) -> list[str]:
    """A field as an option with its value, as it is typed; a flag has none."""
    if isinstance(value, bool):
        return [option(name if value else f"no-{name}")]
    return [option(name), *map(str, value if isinstance(value, tuple) else (value,))]


def counted(count: int, one: str) -> str:
    """A count with its noun, which takes an s for several."""
    return f"{count:,} {one if count == 1 else one + 's'}"


def duration(seconds: float) -> str:
    """Hours, minutes and seconds, as 1:02:03."""
    minutes, seconds = divmod(max(0, round(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}"


def number(text: str) -> float:
    """Number of a text in the digits 0 to 9; `nan` and `inf` are numbers too. Raises a ValueError if it is none."""
    try:
        if text.isascii():
            return float(text)
    except ValueError:
        pass
    raise ValueError(f"{text!r} is no number in the digits 0 to 9")


def number_or_nan(text: str) -> float:
    """The same; NaN for a text that is no number."""
    try:
        return number(text)
    except ValueError:
        return math.nan


def whole_number(text: str) -> int:
    """Whole number of a text, such as `1000000`, `1_000_000` or `1e6`. Raises a ValueError if it is none."""
    value = number(text)
    if not value.is_integer():
        raise ValueError(f"{text!r} is no whole number")
    # A float holds whole numbers beyond 2**53 only in steps.
    return int(text) if text.strip().lstrip("+-").replace("_", "").isdigit() else int(value)


_OF_CMD = frozenset('&|<>^()%"')  # what cmd.exe reads in an argument; list2cmdline quotes for the program alone
_UNDER_UV = "UV_RUN_RECURSION_DEPTH"  # set by `uv run` for the command that it runs


def quoted(arguments: Sequence[object]) -> str:
    """Arguments as one line for the shell of this system."""
    texts = [str(argument) for argument in arguments]
    return " ".join(map(_for_windows, texts)) if os.name == "nt" else shlex.join(texts)


def _for_windows(text: str) -> str:
    """An argument as cmd.exe passes it on unchanged, to a program that splits its command line by Microsoft's rules."""
    if _OF_CMD.isdisjoint(text):
        return subprocess.list2cmdline([text])
    # Within quotes cmd.exe takes all but these two as they are. Outside it takes what follows a caret so, and the signs beside
    # it keep the letters between two per cents from being the name of a variable.
    pieces = re.findall(r'[%"]|[^%"]+', text)
    return "".join({"%": "^%", '"': '\\^"'}.get(piece) or _in_quotes(piece) for piece in pieces)


def _in_quotes(text: str) -> str:
    """A text in quotes, of which it has none; backslashes at its end stand twice, or they would escape the closing quote."""
    return f'"{text}{text[len(text.rstrip(chr(92))) :]}"'


def python_command(module: str, *arguments: object) -> str:
    """The line that runs a module with this Python: under `uv run` where this process is."""
    runner = ("uv", "run") if _UNDER_UV in os.environ else ()
    return quoted([*runner, "python", "-m", module, *arguments])


def raised(text: str) -> str:
    """The exception that a traceback ends with, to its first line that says something; without frames the last line."""
    lines = text.rstrip().splitlines() or [""]
    frames = [place for place, line in enumerate(lines) if line.startswith("  File ")]
    after = lines[frames[-1] + 1 :] if frames else lines[-1:]
    first, *more = [line for line in after if line and not line.startswith(" ")] or [lines[-1]]
    return f"{first.rstrip()} {more[0]}" if first.rstrip().endswith(":") and more else first
