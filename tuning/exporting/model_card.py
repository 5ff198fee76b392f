"""Files beside an exported policy: its hyperparameters as TOML, and a model card."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from common.errors import UsageError
from common.measure import BASIS, SCORE, Measure
from common.paths import user_path
from common.texts import counted, markdown, option_words, printable, quoted
from results.judgement import STATISTIC, cells, headings, markdown_table, metrics_of, scales, written_table
from search_spaces import Assignment, Value
from tuning.experiment.folder import Experiment, open_experiment
from tuning.experiment.settings import OF_A_SITE, OF_AN_ENVIRONMENT, Settings
from tuning.judging.folder import OF_TRAINING, Contender, JudgementPaths, read_judgement
from tuning.trial.records import TrialRecords


def hyperparameters_toml(hyperparameters: Assignment, settings: Settings) -> str:
    """A full assignment as TOML, in the form that `--space` reads, with the command that trains it."""
    command = ["python", "-m", "tuning.run", "--trials", "1", "--space", "hyperparameters.toml"]
    others = OF_A_SITE if settings.env else (*OF_AN_ENVIRONMENT, "env")
    given: dict[str, object] = {name: getattr(settings, name) for name in OF_TRAINING if name not in others}
    given["objective"] = tuple(settings.objective.split()) if settings.objective != Settings.objective else ()
    if not settings.minimize:
        given.pop("minimize", None)
    # TOML has no null, so hyperparameters that are none are set on the command line.
    given["set"] = tuple(f"{name}=none" for name, value in hyperparameters.items() if value is None)
    for name, value in given.items():
        command += option_words(name, value) if value not in ((), "none") else []
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


def card(
    about: Mapping[str, Any],
    evaluations: pd.DataFrame,
    measures: Mapping[str, Measure],
    judged: pd.DataFrame | None,
    contender: str,
    in_environment: bool = False,
) -> str:
    """The model card, in Markdown.

    `evaluations` has a row a year of the policy at the end of its training. `judged` is a table of `results.judgement` in which
    it is the contender; None where it was not judged.
    """
    lines = [f"# {markdown(str(about['policy']))}", "", "| | |", "|---|---|"]
    lines += [f"| {name} | {markdown(str(value))} |" for name, value in about.items()]
    lines += ["", "## What it does", ""]
    unseen, basis = ("episodes", "") if in_environment else ("hours", f"Amounts are of {BASIS}. ")
    if judged is not None:
        shown = judged[(judged["contender"] == contender) | (judged["algorithm"] == "")]
        known = metrics_of(judged)
        sizes = scales(shown, known)
        lines += [
            f"Trained again with fresh seeds and judged on {unseen} that no search has seen:",
            f"{STATISTIC}.",
            f"{basis}This policy is one of them, or of the same hyperparameters.",
            "",
            *markdown_table(headings(known, sizes), [cells(row, known, sizes) for _, row in shown.iterrows()]),
        ]
    else:
        lines += [
            f"On the validation split, by which it was chosen: **not judged on unseen {unseen}, and no interval**, as it is",
            "one run.",
            f"`python -m tuning.judge` does both. {basis}".rstrip(),
            "",
            *_evaluated(evaluations, measures),
        ]
    lines += ["", "## Files", "", *(_FILES_OF_ENVIRONMENT if in_environment else _FILES), ""]
    return "\n".join(lines)


_FILES = (
    "- `policy.onnx`: the mode of the policy, from CityLearn's observations (float64, one row a site) to CityLearn's actions;",
    "  scaling, normalisation and charging by rule are inside. `policy.json` names its inputs and outputs in their order.",
    "- `controller.py`: controls a CityLearn environment with it, by `python controller.py SCHEMA.json [HOURS]`; needs",
    "  citylearn, numpy and onnxruntime.",
    "- `mpc.npz`, if it is there: model predictive control of the site, for forecasts of yours; needs this package.",
    "- `hyperparameters.toml`: the full assignment.",
)
_FILES_OF_ENVIRONMENT = (
    "- `policy.onnx`: the mode of the policy, from observations of the environment (float32, flattened as",
    "  `gymnasium.spaces.utils.flatten` does, one row each) to its actions; normalisation and the range of actions are inside.",
    "- `controller.py`: runs an episode with it, by `python controller.py ID`, or in Python, in an environment of your own,",
    "  `from controller import episode; print(episode(make()))`; needs gymnasium, numpy and onnxruntime.",
    "- `policy.json`: the spaces, in words.",
    "- `hyperparameters.toml`: the full assignment.",
)


def _evaluated(years: pd.DataFrame, measures: Mapping[str, Measure]) -> list[str]:
    """Score and KPIs of a policy, a column a year; of an environment means over its episodes."""
    shown = [measure for measure in measures.values() if measure.label or measure == SCORE]
    if len(years) and years["hours"].isna().all():
        parts = {f"mean of {counted(len(years), 'episode')}": years}
    else:
        parts = {f"year {row.year}, {row.hours:,} hours": years.iloc[[place]] for place, row in enumerate(years.itertuples())}
    heading, rows = ["", *parts], []
    for measure in shown:
        values = [measure.value(part) for part in parts.values()]
        if pd.isna(values).all():
            continue  # of what the site does not have
        scale = measure.scale(values)
        text = SCORE.shown if measure == SCORE else "{:.1%}".format if measure.is_share else scale.text
        cells_of = ["" if pd.isna(value) else text(value) for value in values]
        rows.append([scale.heading(measure.label or measure.name), *cells_of])
    return markdown_table(heading, rows)


def own_judgement(experiment: Experiment) -> tuple[pd.DataFrame | None, str]:
    """Table of the judgement that contains an experiment, and its contender's name there; none where it was not judged."""
    folder = experiment.paths.folder
    paths = JudgementPaths(folder.parent.parent)
    if folder.parent != paths.runs or not paths.table.is_file():
        return None, ""
    table, _ = written_table(paths.table)
    names = [contender.name for contender in read_judgement(paths).contenders if paths.run(contender) == folder]
    judged = [name for name in names if name in set(table["contender"])]
    return (table, judged[0]) if judged else (None, "")


def given_judgement(experiment: Experiment, number: int, folder: Path) -> tuple[pd.DataFrame, str]:
    """Table of a judgement, and the name of the contender that is the trial.

    Contenders are matched by what was trained, not by name: a trial with the default assignment is judged as the default.
    Raises a UsageError if none is.
    """
    paths = JudgementPaths(user_path(folder).resolve())
    for path in (paths.table, paths.settings):
        if not path.is_file():
            raise UsageError(f"--judgement {folder}: there is no {path.name} in it")
    (table, _), judgement, settings = written_table(paths.table), read_judgement(paths), experiment.settings
    hyperparameters = TrialRecords(experiment).assignment(number)
    matching = [
        contender.name
        for contender in judgement.contenders
        if contender.name in set(table["contender"]) and _trains(contender, paths, hyperparameters, settings)
    ]
    if not matching or judgement.settings.scenario != settings.task.key:
        raise UsageError(
            f"--judgement {folder}: no contender in it has scenario, reward, algorithm, steps and hyperparameters of trial "
            f"{number} of {settings.name}"
        )
    # Two experiments may have contributed the same assignment.
    name = f"{settings.name} {number}"
    return table, name if name in matching else matching[0]


def _trains(contender: Contender, paths: JudgementPaths, hyperparameters: Assignment, settings: Settings) -> bool:
    """Whether a contender is trained as an assignment is by its experiment's settings."""
    if contender.hyperparameters != hyperparameters:
        return False
    run = open_experiment(paths.run(contender)).settings
    return all(getattr(run, name) == getattr(settings, name) for name in ("algo", "steps", "reward", "weights", "teacher"))
