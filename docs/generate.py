"""Write the pages of `docs/reference` from the code: `uv run python -m docs.generate`.

Options come from the dataclasses that the command lines are generated from, hyperparameters from the search spaces, columns
from the schema of the results. `tests/docs/test_generate.py` fails when a page is older than the code.
"""

import argparse
import importlib
import inspect
import sys
import types
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import tyro
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

from common.texts import option
from search_spaces import Kind
from search_spaces.common import REWARD_SHARE, with_reward_share
from search_spaces.parameter import OnlyIf, Parameter, Scale
from tuning.algorithms.registry import AlgorithmSpec
from tuning.cli.help import documented
from tuning.experiment.option_values import OWN

FOLDER = Path(__file__).parent / "reference"
COMMAND = "uv run python -m docs.generate"
# Modules with a command line, each with the dataclass of its options.
COMMANDS: Mapping[str, str] = {
    "tuning.run": "tuning.cli.search_options:SearchOptions",
    "tuning.site": "envs.scenarios.metered:SiteOptions",
    "tuning.headroom": "tuning.judging.settings:HeadroomSettings",
    "tuning.judge": "tuning.judging.settings:JudgeSettings",
    "tuning.rollout": "tuning.exporting.settings:RolloutSettings",
    "tuning.export": "tuning.exporting.settings:ExportSettings",
    "tuning.resources": "tuning.diagnosis.settings:MemorySettings",
    "tuning.doctor": "tuning.diagnosis.settings:DoctorSettings",
}
# Those that start without tyro, and what makes their parsers.
PARSERS: Mapping[str, str] = {
    "envs.preview": "envs.preview:parser",
    "envs.convert": "envs.convert:parser",
    "results.report": "results.report.__main__:parser",
    "results.watch": "results.watch:parser",
}
TYPES = {int: "whole number", float: "number", str: "text", Path: "path"}
HYPERPARAMETER = ("name", "valid", "default", "searched", "meaning")
OPTION = ("option", "takes", "default", "meaning")  # heads of a table of options
Row = tuple[str, str, str, str]


def pages() -> dict[str, str]:
    """The reference: text of each page by its file's name."""
    return {"commands.md": commands_page(), "hyperparameters.md": hyperparameters_page(), "columns.md": columns_page()}


def main() -> int:
    """Write the pages, and print their paths."""
    FOLDER.mkdir(exist_ok=True)
    for name, text in pages().items():
        (FOLDER / name).write_text(text, encoding="utf-8", newline="\n")
        print(f"docs/reference/{name}")
    return 0


# -- commands --------------------------------------------------------------------------------


def commands_page() -> str:
    """Options of each command, with what they take, their defaults and meanings."""
    parts = [
        _head("Commands"),
        "`uv run python -m tuning.run --help` prints the same texts. Where the default is empty, nothing is given by default.",
    ]
    told: dict[Row, str] = {}
    for module, place in COMMANDS.items():
        options = named(place)
        rows = [_option(options, entry) for entry in fields(options) if "Suppress" not in str(entry.type)]
        parts += [f"## {module}", _paragraphs(options), *_options(module, rows, told)]
    for module, place in PARSERS.items():
        parser = named(place)()
        rows = [_of_argparse(action) for action in parser._actions if action.dest != "help"]
        parts += [f"## {module}", parser.description, *_options(module, rows, told)]
    return _page(parts)


def _options(module: str, rows: list[Row], told: dict[Row, str]) -> Iterator[str]:
    """A table of options; those that an earlier command has too, by `told`, are named in a line below it."""
    as_of: dict[str, list[str]] = {}
    own = []
    for row in rows:
        of_run = module != "tuning.run" and row[3].startswith("See python -m tuning.run")
        where = "tuning.run" if of_run else told.setdefault(row, module)
        if where == module:
            own.append(row)
        else:
            as_of.setdefault(where, []).append(row[0])
    yield _table(OPTION, own)
    yield from (f"As of `{where}`: {', '.join(names)}." for where, names in as_of.items())


def _of_argparse(action: argparse.Action) -> Row:
    """Row of an option of `argparse`."""
    taken = ", ".join(f"`{value}`" for value in action.choices) if action.choices else f"`{action.metavar}`"
    more = ", one or more" if action.nargs == "+" else ""
    name = action.option_strings[0] if action.option_strings else str(action.metavar)
    default = f"`{action.default}`" if action.default else ""
    return f"`{name}`", taken + more, "must be given" if action.required else default, _in_table(str(action.help))


def _option(options: type, entry: Field[Any]) -> Row:
    """Row of an option."""
    hint = get_type_hints(options, include_extras=True)[entry.name]
    of_tyro = [extra for extra in getattr(hint, "__metadata__", ()) if hasattr(extra, "help")]
    meaning = next((extra.help for extra in of_tyro if extra.help), "") or documented(options).get(entry.name, "")
    if not meaning:
        raise ValueError(f"{options.__name__}.{entry.name} has no description: write one below the field")
    is_positional = tyro.conf.Positional in getattr(hint, "__metadata__", ())
    name = entry.name.upper() if is_positional else option(entry.name)
    return f"`{name}`", _taken(hint, of_tyro), _default(entry), _in_table(meaning)


def _taken(hint: Any, of_tyro: list[Any]) -> str:
    """What an option takes, in words."""
    for extra in of_tyro:
        if extra.constructor_factory:
            return _taken(extra.constructor_factory(), [])
        if extra.metavar:
            return f"`{extra.metavar}`, one or more"
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _taken(inner[0], [])
    if origin is Literal:
        return ", ".join(f"`{value}`" for value in inner)
    if origin is tuple:
        return f"{_taken(inner[0], [])}; one or more"
    if origin in (Union, types.UnionType):
        return _taken(next(kind for kind in inner if kind is not type(None)), [])
    return "nothing" if hint is bool else TYPES[hint]


def _default(entry: Field[Any]) -> str:
    """Default of an option as one types it; empty where the default is to give nothing."""
    value = entry.default
    if value is MISSING:
        return "must be given"
    if value is None or value is False or value in ("", ()):
        return ""
    text = (
        " ".join(map(str, value)) if isinstance(value, tuple) else value.as_posix() if isinstance(value, Path) else str(value)
    )
    return f"`{text}`"


# -- hyperparameters -------------------------------------------------------------------------


def hyperparameters_page() -> str:
    """Hyperparameters and presets of each algorithm."""
    from tuning.algorithms.registry import algorithm

    specs = {name: algorithm(name) for name in sorted(entry.name for entry in OWN)}
    rows = {name: [_hyperparameter(parameter) for parameter in spec.space.parameters] for name, spec in specs.items()}
    (share,) = (own for own in with_reward_share(specs["ppo"].space, 0.5).parameters if own.name == REWARD_SHARE)
    name, valid, _, searched, meaning = _hyperparameter(share)
    return _page(
        [
            _head("Hyperparameters"),
            "`--set NAME=VALUE` fixes one, and `--space FILE` changes [what is searched](../formats.md#search-space).\n"
            "[Algorithms](../algorithms.md#hyperparameters) says what they are for, [search](../search.md) how they are drawn.",
            *_by_algorithm(rows),
            "## With two objectives\n\nWhere both objectives have a term in the reward:",
            _table(HYPERPARAMETER, [(name, valid, "by `--weights`", searched, meaning)]),
            "## Presets\n\nAll other values of a preset are the defaults.",
            _table(("algorithm", "preset", "values"), [row for name, spec in specs.items() for row in _presets(name, spec)]),
        ]
    )


def _by_algorithm(rows: Mapping[str, list[tuple[str, ...]]]) -> Iterator[str]:
    """A table for each set of algorithms that have the same rows."""
    users: dict[tuple[str, ...], tuple[str, ...]] = {}
    for name, own in rows.items():
        for row in own:
            users[row] = (*users.get(row, ()), name)
    for names in sorted(set(users.values()), key=lambda names: (-len(names), names)):
        yield f"## {', '.join(names)}"
        yield _table(HYPERPARAMETER, [row for row, used_by in users.items() if used_by == names])


def _presets(name: str, spec: AlgorithmSpec) -> Iterator[tuple[str, str, str]]:
    """Rows of presets: what differs from the default."""
    default = {parameter.name: parameter.default for parameter in spec.space.parameters}
    for preset, values in spec.presets.items():
        other = {key: value for key, value in values.items() if value != default[key]}
        yield name, f"`{preset}`", " ".join(f"`{key}={_typed(value)}`" for key, value in other.items()) or "none"


def _hyperparameter(parameter: Parameter) -> tuple[str, ...]:
    """Row of a hyperparameter."""
    return (
        f"`{parameter.name}`", _valid(parameter), f"`{_typed(parameter.default)}`", _searched(parameter),
        _in_table(parameter.meaning + _acts(parameter.only_if)),
    )  # fmt: skip


def _valid(parameter: Parameter) -> str:
    """Valid values."""
    if parameter.choices:
        valid = ", ".join(f"`{choice}`" for choice in parameter.choices)
    elif parameter.kind in (Kind.INTEGER, Kind.NUMBER):
        whole = "whole, " if parameter.kind is Kind.INTEGER else ""
        valid = f"{whole}{_number(parameter.low)} to {_number(parameter.high)}"
    else:
        valid = "`true`, `false`" if parameter.kind is Kind.FLAG else "sizes of layers with commas between"
    bound = parameter.at_most
    least = f", at most {'' if bound.part == 1.0 else f'{bound.part:g} of '}`{bound.name}`" if bound else ""
    return valid + least + (", or `none`" if parameter.optional else "")


def _searched(parameter: Parameter) -> str:
    """What a search draws, in values of the hyperparameter; empty where it is not searched."""
    search = parameter.search
    if search is None:
        return ""
    if isinstance(search, CategoricalDistribution):
        return ", ".join(f"`{_typed(choice)}`" for choice in search.choices)
    assert isinstance(search, IntDistribution | FloatDistribution)
    if parameter.part_of:
        low, high = (2 ** int(bound) for bound in (search.low, search.high))
        least = f", at least {parameter.part_of.least}" if parameter.part_of.least > 1 else ""
        in_all = f", at least {1 / parameter.searched_to.part:,.0f} in a trial" if parameter.searched_to else ""
        return f"`{parameter.part_of.name}` divided by {low} to {high}{least}{in_all}"
    ends = sorted(parameter.scale.outer(bound) for bound in (search.low, search.high))  # type: ignore[type-var]
    text = f"{_number(ends[0])} to {_number(ends[1])}{_scale(parameter, search)}"
    if parameter.searched_to:
        text += f", at most {parameter.searched_to.part:g} of `{parameter.searched_to.name}`"
    if begin := parameter.searched_from:
        named = " or ".join(f"`{_typed(value)}`" for value in begin.values)
        text += f", from {_number(begin.low)} where `{begin.name}` is {named}"
    return text + (f", up to the first that holds all `{parameter.enough}`" if parameter.enough else "")


def _scale(parameter: Parameter, search: BaseDistribution) -> str:
    if parameter.scale is Scale.POWER_OF_TWO:
        return ", powers of two"
    if not getattr(search, "log", False):
        return ""
    return ", log scale of 1 - value" if parameter.scale is Scale.ONE_MINUS else ", log scale"


def _acts(condition: OnlyIf | None) -> str:
    if condition is None:
        return ""
    return f" (acts where `{condition.name}` is {' or '.join(f'`{_typed(value)}`' for value in condition.values)})"


def _typed(value: Any) -> str:
    """A value as one types it after `--set NAME=`."""
    if value is None or isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


def _number(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"


# -- columns ---------------------------------------------------------------------------------


def columns_page() -> str:
    """Columns of all tables, with units and meanings."""
    from common.measure import BASIS, SITE
    from envs.objective.columns import evaluation_columns
    from envs.objective.kpis import RATIOS
    from results import judgement, rollout, schema

    def own(table: str) -> list[tuple[str, str, str]]:
        return [
            (field.name, field.metadata[b"unit"].decode(), field.metadata[b"meaning"].decode())
            for field in schema.schema(table)
        ]

    measures = [(name, own.unit, own.meaning) for name, own in evaluation_columns().items() if not name.startswith(SITE)]
    compared = [name for name, *_ in measures if SITE + name in evaluation_columns()]
    assigned = [
        (f"{schema.GIVEN}...", "", "what the search assigned; one for each hyperparameter"),
        (f"{schema.USED}...", "", "what was read back from the trainer, likewise"),
    ]
    reports, as_in_trials = _apart(own("reports"), own("trials"))
    judged, as_in_evaluations = _apart(
        [(name, own.unit, own.meaning) for name, own in judgement.metrics(evaluation_columns()).items()], measures
    )
    hours = [(name, *entry) for name, entry in rollout.COLUMNS.items()]
    return _page(
        [
            _head("Columns"),
            "[Formats](../formats.md#tables) says where the tables are and what a row is. `1` is a plain number.\n"
            "A column without a unit is no number, or has the unit of its objective.",
            "## trials",
            "A row is a trial. [Hyperparameters](hyperparameters.md) lists the names that follow `hp_` and `used_`.",
            _columns([*own("trials"), *assigned]),
            "## reports",
            "A row is an update of a trial.",
            _columns(reports),
            f"As in `trials`: {as_in_trials}.",
            "## evaluations",
            "A row is a policy on a scenario year. The [KPIs](../aims.md#kpis) among them can be an objective.",
            _columns([*own("evaluations"), *(row for row in measures if row[0] not in RATIOS)]),
            f"CityLearn's ratios, whose baseline charges no vehicle: {', '.join(f'`{name}`' for name in RATIOS)}.",
            f"`uncontrolled_...` is the same of the uncontrolled run, for each from `{compared[0]}` to `{compared[-1]}`.",
            "## judgement.parquet",
            f"A row is a contender, a baseline or a bound. A metric is a {judgement.STATISTIC}; "
            "`..._low` and `..._high` are its ends.",
            _columns(judged),
            f"As in `evaluations`, with amounts as those of {BASIS}: {as_in_evaluations}.",
            "## Rollout",
            "A row is an hour.",
            _columns(hours),
        ]
    )


def _apart(rows: list[tuple[str, str, str]], told: list[tuple[str, str, str]]) -> tuple[list[tuple[str, str, str]], str]:
    """Rows that say what those of another table do not, and the names of the others."""
    meanings = {name: meaning for name, _, meaning in told}
    same = {name for name, _, meaning in rows if name in meanings and meaning.startswith(meanings[name])}
    return [row for row in rows if row[0] not in same], ", ".join(f"`{row[0]}`" for row in rows if row[0] in same)


def _columns(rows: Iterable[tuple[str, str, str]]) -> str:
    return _table(("column", "unit", "meaning"), [(f"`{name}`", unit, _in_table(meaning)) for name, unit, meaning in rows])


# -- Markdown --------------------------------------------------------------------------------


def named(place: str) -> Any:
    """What a place, as `module:name`, names."""
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(module), name)


def _head(title: str) -> str:
    return f"# {title}\n\nGenerated from the code:\n\n```\n{COMMAND}\n```"


def _paragraphs(options: type) -> str:
    """The dataclass's docstring, a sentence a line."""
    return "\n".join(_sentences(inspect.getdoc(options) or ""))


def _sentences(text: str) -> Iterator[str]:
    for paragraph in text.split("\n\n"):
        yield from (f"{part.rstrip('.')}." for part in " ".join(paragraph.split()).split(". "))


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |".replace("|  |", "| |").replace("|  |", "| |") for cells in lines)


def _in_table(text: str) -> str:
    """A text in a cell: no line break, and no character that ends the cell or begins markup."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def _page(parts: Iterable[str]) -> str:
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    sys.exit(main())
