"""Tables and columns of the results: the vocabulary, in one place.

Unit and meaning of a column are in the field's metadata, the schema's version in the file's. The columns of hyperparameters
and of measures, such as KPIs, come from the writer.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import TYPE_CHECKING

from common.measure import SCORE, Measure

if TYPE_CHECKING:
    import pyarrow as pa

SCHEMA_VERSION = 3
FINGERPRINT = "columns"  # key in a file's metadata, of `checksum_of`
FOLDER = "results"  # below the experiment's folder
CANDIDATE = "candidate"  # `confirm_role` of trials that choose which assignments are confirmed
TABLES = ("trials", "reports", "evaluations")
STATES = ("running", "frozen", "complete", "pruned", "oom", "failed")

# Prefixes of the columns that an algorithm's hyperparameters make in `trials`.
GIVEN = "hp_"  # what the search assigned
USED = "used_"  # what was read back from the built trainer

_TIME = "timestamp"
# name: (Arrow type, unit, meaning). "1" is a plain number, "" a column without a unit.
Columns = Mapping[str, tuple[str, str, str]]

# What trials and reports are ranked by. The last three are of a search with two objectives, whose rating is the mean of both
# gains, and empty in others.
_RATED: Columns = {
    "objective": ("float64", "", "value of --objective in its unit, amounts of a year; empty where that is the score"),
    "shortfall": ("float64", "1", "by how much --require is missed, as a sum of parts; 0 where all is met; empty without any"),
    "rating": ("float64", "", "what trials are ranked by, if not the score: the objective, turned so that more is better"),
    "objective_2": ("float64", "", "value of the second of two objectives, like the first"),
    "gain": ("float64", "1", "of two objectives, by what part the first is better than on the uncontrolled site"),
    "gain_2": ("float64", "1", "likewise of the second"),
}

_TRIALS: Columns = {
    "trial": ("int64", "1", "number of the trial in its experiment"),
    "state": ("string", "", "running, frozen (it may go on), complete, pruned, oom or failed"),
    "score": ("float64", "1", "score of the evaluation that counts (--keep); more is better, 0 is the uncontrolled site"),
    "kept_steps": ("int64", "1", "steps at that evaluation, whose policy is exported"),
    "further_episodes": (
        "int64",
        "1",
        "further episodes or weeks in the score; 0 ranks last; empty before a search's end",
    ),
    "plan_score": ("float64", "1", "score of its plan alone, which its policy changes; empty without a plan"),
    **_RATED,
    "on_front": ("bool", "", "of two objectives, whether no trial was better in both when the last run ended"),
    "algorithm": ("string", "", "learning algorithm"),
    "scenario": ("string", "", "scenario or environment as it was named"),
    "backend": ("string", "", "what stepped it in training; gymnasium for an environment"),
    "num_envs": ("int64", "1", "copies of the site that were stepped at once"),
    "reward": ("string", "", "reward that was trained on; environment for its own"),
    "seed": ("int64", "1", "seed of the trial"),
    "steps": ("int64", "1", "environment steps trained, cumulative over resumes"),
    "budget_steps": ("int64", "1", "environment steps that were asked for"),
    "updates": ("int64", "1", "rounds of collecting and learning"),
    "started": (_TIME, "", "start of the first run"),
    "finished": (_TIME, "", "end; empty while it runs"),
    "seconds": ("float64", "s", "wall time from its start in its process to its last report, cumulative over resumes"),
    "environment_seconds": ("float64", "s", "of it in the training environment"),
    "learner_seconds": ("float64", "s", "of it in gradient updates"),
    "evaluation_seconds": ("float64", "s", "of it in evaluations"),
    "rest_seconds": ("float64", "s", "of it in everything else: building, inference, saving, waiting"),
    "peak_rss_bytes": ("int64", "B", "most host memory of the process"),
    "peak_vram_bytes": ("int64", "B", "most GPU memory that torch allocated; 0 without a GPU"),
    "peak_process_vram_bytes": ("int64", "B", "most GPU memory of the process, CUDA's context included; 0 without a GPU"),
    "predicted_vram_bytes": ("int64", "B", "GPU memory by the model, before it was corrected"),
    "predicted_ram_bytes": ("int64", "B", "host memory by the model, before it was corrected"),
    "granted_vram_bytes": ("int64", "B", "GPU memory that it was held to; 0 without a GPU"),
    "granted_ram_bytes": ("int64", "B", "host memory that it was held to"),
    "gpu_share": ("float64", "1", "part of a card that Ray reserved"),
    "out_of_memory": ("int64", "1", "how often it ran out of memory; from the second time on it was alone on the machine"),
    "savings": ("string", "", "what it did to need less memory (--on-oom adapt); empty for nothing"),
    "device": ("string", "", "device of the learner"),
    "crashes": ("int64", "1", "how often it crashed; it goes on from its checkpoint"),
    "noticed": ("string", "", "that its policy does nothing, what its plan does, or what an earlier one does; else empty"),
    "error": ("string", "", "traceback of its last crash since it was last started"),
    "confirms": ("int64", "1", "trial that it trains again; -1 for a default that was not tried; empty in the search"),
    "confirm_run": ("int64", "1", "number of the fresh seed, which the trials that are compared share; empty in the search"),
    "confirm_role": ("string", "", "default, best (is compared with it) or candidate (chose the best); empty in the search"),
    "same_as": ("int64", "1", "trial with the same assignment; this one has its rating without a run; else empty"),
    "host": ("string", "", "computer"),
    "platform": ("string", "", "operating system"),
    "python": ("string", "", "version"),
    "versions": ("string", "", "versions of the packages that matter, as JSON"),
    "git_commit": ("string", "", "commit of the working tree; empty where there is none"),
}

_REPORTS: Columns = {
    "trial": ("int64", "1", "number of the trial"),
    "update": ("int64", "1", "number of the update, from 1"),
    "steps": ("int64", "1", "environment steps so far"),
    "time": (_TIME, "", "when it was reported"),
    "seconds": ("float64", "s", "wall time of the trial so far"),
    "score": ("float64", "1", "score on the validation split; empty where it was not evaluated"),
    **_RATED,
    "episode_return": ("float64", "1", "mean return of the training episodes that ended; empty where none did"),
    "policy_loss": ("float64", "1", "mean over the update"),
    "value_loss": ("float64", "1", "mean over the update"),
    "entropy": ("float64", "1", "of the policy's distribution"),
    "ent_coef": ("float64", "1", "weight of the entropy; SAC learns it"),
    "kl": ("float64", "1", "divergence from the policy before the update"),
    "explained_variance": ("float64", "1", "part of the returns' variance that the value explains"),
    "gradient_norm": ("float64", "1", "before it is cut"),
    "learning_rate": ("float64", "1", "of the optimizer now"),
    "gradient_steps": ("int64", "1", "gradient steps of this update"),
    "steps_per_second": ("float64", "1/s", "environment steps over wall time of collecting and learning"),
    "environment_seconds": ("float64", "s", "of this update in the environment"),
    "learner_seconds": ("float64", "s", "of this update in gradient steps"),
    "evaluation_seconds": ("float64", "s", "of this update in the evaluation"),
    "rest_seconds": ("float64", "s", "since the report before in everything else: building, inference, saving, waiting"),
    "rss_bytes": ("int64", "B", "host memory of the trial's process"),
    "vram_bytes": ("int64", "B", "GPU memory that torch has allocated"),
    "process_vram_bytes": ("float64", "B", "GPU memory of the process by the driver; these and the following are means"),
    "gpu_memory_bytes": ("float64", "B", "GPU memory of all processes on the card"),
    "gpu_utilization": ("float64", "1", "part of the time in which the card computed"),
    "gpu_temperature_c": ("float64", "Celsius", "of the card"),
    "gpu_power_w": ("float64", "W", "that the card drew"),
    "machine_memory_bytes": ("float64", "B", "host memory of all processes"),
    "cpu_cores": ("float64", "1", "cores that the process kept busy"),
}

_EVALUATIONS: Columns = {
    "contender": ("string", "", "what was judged: an assignment trained anew, a baseline, a bound; empty in a search"),
    "algorithm": ("string", "", "learning algorithm of a contender; empty in a search and for what did not learn"),
    "seed": ("int64", "1", "seed by which a contender was trained anew; empty in a search and for what did not learn"),
    "trial": ("int64", "1", "number of the trial; of a contender, of its run"),
    "steps": ("int64", "1", "environment steps that the policy was trained for"),
    "scenario": ("string", "", "scenario or environment as it was named"),
    "split": ("string", "", "train, validation or test"),
    "year": ("int64", "1", "scenario year; of an environment the number of the episode"),
    "backend": ("string", "", "what judged"),
    "hours": ("int64", "h", "hours that were run; empty for episodes, which weigh alike"),
    "further": ("bool", "", "whether at a search's end, beyond its evaluations; else empty"),
}

_COLUMNS = {"trials": _TRIALS, "reports": _REPORTS, "evaluations": _EVALUATIONS}


def schema(
    table: str, hyperparameters: Mapping[str, type] | None = None, measures: Mapping[str, Measure] | None = None
) -> pa.Schema:
    """Arrow schema of a table.

    Args:
        table: one of `TABLES`.
        hyperparameters: of `trials`: Python type by name; each has two columns, what was given and what was used.
        measures: of `evaluations`: what they measure beside the score. One with the name of another column is a ValueError.
    """
    import pyarrow as pa

    columns = _COLUMNS[table]
    measured = {SCORE.name: SCORE} if table == "evaluations" else {}
    if doubled := {*columns, *measured} & (measures or {}).keys():
        raise ValueError(f"table {table} has columns {', '.join(sorted(doubled))} of its own: name the measures otherwise")
    fields = [
        pa.field(name, pa.timestamp("us", tz="UTC") if kind == _TIME else kind, metadata={"unit": unit, "meaning": meaning})
        for name, (kind, unit, meaning) in columns.items()
    ]
    measured |= dict(measures or {})
    fields += [pa.field(name, measure.kind, metadata=measure.metadata) for name, measure in measured.items()]
    natural = {int: "int64", float: "float64", bool: "bool", str: "string"}
    for prefix, meaning in ((GIVEN, "assigned by the search"), (USED, "read back from the trainer")):
        fields += [
            pa.field(prefix + name, natural[kind], metadata={"unit": "", "meaning": meaning})
            for name, kind in (hyperparameters or {}).items()
        ]
    return pa.schema(fields, metadata={"table": table, "schema_version": str(SCHEMA_VERSION)})


def measures_of(columns: pa.Schema) -> dict[str, Measure]:
    """What the columns of evaluations measure, as the fields' metadata have it."""
    kinds = {"double": "float64", "int64": "int64"}
    read = {}
    for field in columns:
        told = {key.decode(errors="replace"): text.decode(errors="replace") for key, text in (field.metadata or {}).items()}
        if measure := Measure.of(field.name, kinds.get(str(field.type), ""), told):
            read[field.name] = measure
    return read


def columns_text(columns: pa.Schema) -> str:
    """Names and types of columns, a line each."""
    return "\n".join(f"{field.name} {field.type}" for field in columns)


def checksum_of(text: str, rows: int) -> str:
    """Checksum of the names and types of a table's columns, see `columns_text`, and of its number of rows."""
    return f"{zlib.crc32(chr(10).join((str(rows), text)).encode()):08x}"
