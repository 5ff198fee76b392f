"""Help that fits on a screen: the options that most people need, in groups, and the names of the others."""

import ast
import inspect
import textwrap
from collections.abc import Mapping, Sequence
from typing import Final

from common.texts import option

WIDTH = 80  # columns
ALL = "--help-all"
# Options of `tuning.run` by what they are for; those before None are told of, the others named.
OF_SEARCH: Final[Mapping[str, Sequence[str | None]]] = {
    "What to tune": (
        "algo", "scenario", "env", "objective", "set", None, "env_config", "minimize", "require", "weights", "reward", "space",
        "preset", "start_from",
    ),
    "How long": ("budget", None, "trials", "steps", "evaluations", "confirm", "retries"),
    "What may be spent": ("device", "gpu_memory", "concurrency", None, "num_envs", "on_oom", "keep_checkpoints"),
    "Where": ("name", None, "dir", "storage", "address", "config", "print_config"),
    "How to go on": ("resume", "learn_from", "retry_failed", None, "extend"),
    "How it is rated": (
        None, "train", "validation", "test", "train_buildings", "validation_buildings", "test_buildings", "validation_weeks",
        "episodes", "keep", "backend", "trust_scenario",
    ),
    "How it is searched": (None, "sampler", "scheduler", "seed", "teacher", "track", "callback"),
}  # fmt: skip


def documented(options: type) -> dict[str, str]:
    """What stands below each field of a dataclass, as tyro reads it; of inherited fields too."""
    texts: dict[str, str] = {}
    for owner in reversed(options.__mro__[:-1]):
        (body,) = ast.parse(textwrap.dedent(inspect.getsource(owner))).body
        assert isinstance(body, ast.ClassDef)
        for field, text in zip(body.body, body.body[1:], strict=False):
            is_text = isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant) and isinstance(text.value.value, str)
            if is_text and isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
                texts[field.target.id] = " ".join(text.value.value.split())  # type: ignore[attr-defined]
    return texts


def short_help(options: type, program: str, groups: Mapping[str, Sequence[str | None]]) -> str:
    """Help on one screen. `groups` has its options by what they are for; those before None are told of, the others named."""
    texts = documented(options)
    parts = [f"usage: {program} [OPTIONS]", "", *textwrap.wrap(inspect.getdoc(options) or "", WIDTH)]
    for title, group in groups.items():
        split = group.index(None)
        parts += ["", f"{title}:"]
        for name in filter(None, group[:split]):
            first = texts[name].partition(". ")[0].rstrip(".")
            parts += textwrap.wrap(f"{option(name):15} {first}", WIDTH, initial_indent="  ", subsequent_indent=" " * 18)
        others = ", ".join(option(name) for name in filter(None, group[split:]))
        parts += textwrap.wrap(others, WIDTH, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)
    return "\n".join([*parts, "", f"{ALL} tells of all."])
