"""Files beside an exported policy: its hyperparameters as TOML, and a model card."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import pandas as pd

from common.measure import BASIS, SCORE
from common.texts import markdown, printable, quoted
from envs.objective.columns import measures
from results.judgement import STATISTIC, cells, headings, metrics_of, scales
from search_spaces import Assignment, Value
from tuning.experiment.settings import Settings

# Settings that change the training, beside the hyperparameters; the others are about the search, measurements and files.
_OF_TRAINING = ("algo", "scenario", "backend", "num_envs", "reward", "steps", "seed")


def hyperparameters_toml(hyperparameters: Assignment, settings: Settings) -> str:
    """A full assignment as TOML, in the form that `--space` reads, with the command that trains it."""
    command = ["python", "-m", "tuning.run", "--trials", "1", "--space", "hyperparameters.toml"]
    for name in _OF_TRAINING:
        command += [f"--{name.replace('_', '-')}", str(getattr(settings, name))]
    for name, texts in asdict(settings.splits).items():
        command += [f"--{name.replace('_', '-')}", *texts] if texts else []
    command += ["--weights", *settings.weights] if settings.weights else []
    command += ["--objective", *settings.objective.split()] if settings.aim.second else []
    command += ["--teacher", settings.teacher] if settings.teacher != "none" else []
    # TOML has no null, so hyperparameters that are none are set on the command line.
    none = [f"{name}=none" for name, value in hyperparameters.items() if value is None]
    command += ["--set", *none] if none else []
    lines = [
        # Quoted for the shell of this system; a line break in a path would end the comment.
        f"# {printable(quoted(command))}",
        "# Its seed is that of the search; the model card names the one that the search drew for this trial.",
    ]
    lines += [f"{name} = {{value = {_toml(value)}}}" for name, value in hyperparameters.items() if value is not None]
    return "\n".join(lines) + "\n"


def _toml(value: Value) -> str:
    """A value in TOML. It has no pairs of UTF-16, and takes DEL as an escape alone."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def card(about: Mapping[str, Any], evaluations: pd.DataFrame, judged: pd.DataFrame | None, contender: str) -> str:
    """The model card, in Markdown.

    Args:
        about: facts of the policy, by name.
        evaluations: of the policy at the end of its training, a row a year.
        judged: table of `results.judgement` with a row of it; None where it was not judged.
        contender: its name there.
    """
    lines = [f"# {markdown(str(about['policy']))}", "", "| | |", "|---|---|"]
    lines += [f"| {name} | {markdown(str(value))} |" for name, value in about.items()]
    lines += ["", "## What it does", ""]
    if judged is not None:
        own = judged[(judged["contender"] == contender) | (judged["algorithm"] == "")]
        known, sizes = metrics_of(judged), scales(own)
        lines += [
            "Trained again with fresh seeds and judged on years that no search has seen:",
            f"{STATISTIC},",
            f"amounts of {BASIS}. This policy is one of them, or of the same hyperparameters.",
            "",
            *_table(
                headings(known, sizes), [[markdown(text) for text in cells(row, known, sizes)] for _, row in own.iterrows()]
            ),
        ]
    else:
        lines += [
            "On the validation split, by which it was chosen: **not judged on unseen years, and no interval**, as it is one",
            "run.",
            f"`python -m tuning.judge` does both. Amounts are of {BASIS}.",
            "",
            *_evaluated(evaluations),
        ]
    lines += ["", "## Files", "", *_FILES, ""]
    return "\n".join(lines)


_FILES = (
    "- `policy.onnx`: the mode of the policy, from CityLearn's observations (float64, one row a site) to CityLearn's actions;",
    "  scaling, normalisation and charging by rule are inside. `policy.json` names its inputs and outputs in their order.",
    "- `controller.py`: controls a CityLearn environment with it; needs citylearn, numpy and onnxruntime.",
    "- `hyperparameters.toml`: the full assignment.",
)


def _evaluated(years: pd.DataFrame) -> list[str]:
    """Score and KPIs of a policy, a column a year."""
    shown = [own for own in measures().values() if own.label or own == SCORE]
    heading = ["", *(f"year {year}, {hours:,} hours" for year, hours in zip(years["year"], years["hours"], strict=True))]
    rows = []
    for measure in shown:
        values = [measure.value(years.iloc[[place]]) for place in range(len(years))]
        scale = measure.scale(values)
        cells_of = [f"{value:+.4f}" for value in values] if measure == SCORE else [scale.text(value) for value in values]
        rows.append([scale.heading(measure.label or measure.name), *cells_of])
    return _table(heading, rows)


def _table(heading: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [heading, ["---"] * len(heading), *rows]
    return [f"| {' | '.join(line)} |" for line in lines]
