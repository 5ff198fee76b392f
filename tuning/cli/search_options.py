"""Options of a search: its settings, from a file too."""

import json
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from common.errors import UsageError
from common.files import read_text
from common.paths import user_path
from common.texts import hint, option, option_words
from tuning.cli.command import parse
from tuning.experiment.option_values import ALL
from tuning.experiment.settings import OF_A_RUN, Settings

_FORM: Final = "it takes a text, a number, true or false, or a list of texts"
_OPTION: Final = "--config"


@dataclass(frozen=True)
class SearchOptions(Settings):
    """Search for hyperparameters of a controller, and write all measurements as Parquet.

    What is controlled is one of CityLearn's sites, or any other Gymnasium environment.
    """

    config: str = ""
    """TOML file with options by their names, as in budget = "30m", and a table [set]. Options beside it go before it."""
    print_config: bool = False
    """Print the settings as such a file and do nothing else; with --resume or --name those of an experiment."""

    @property
    def settings(self) -> Settings:
        """The settings alone."""
        return Settings(**{entry.name: getattr(self, entry.name) for entry in fields(Settings)})


def as_continued(arguments: Sequence[str], program: str) -> Callable[[Settings, Settings], Settings]:
    """Reads a command line once more, where a setting that it does not give stays as it was in an experiment."""

    def continued(before: Settings, part: Settings) -> Settings:
        # tyro appends to the default of --set, so that is empty. Without --set or --space, those of before hold all the same.
        kept = SearchOptions(**vars(replace(before, space="", set=())))
        now = parse(SearchOptions, with_file(arguments), kept, program).settings
        return now if part.algo == ALL or now.algo != ALL else replace(now, algo=part.algo)

    return continued


def with_file(arguments: Sequence[str]) -> list[str]:
    """A command line with the options of the file that it names before its own: of an option that stands twice the last holds.

    Raises a UsageError if the file cannot be read, or an option in it is unknown, or belongs on the command line.
    """
    words = [word for argument in arguments for word in (argument.split("=", 1) if argument.startswith("--") else [argument])]
    named = [after for word, after in pairwise(words) if word == _OPTION and not after.startswith("--")]
    return [*_words(user_path(named[-1]), words), *arguments] if named else list(arguments)


def _words(file: Path, given: Sequence[str]) -> list[str]:
    """The options of a file as words of a command line, but hyperparameters that the command line sets itself."""
    try:
        values = tomllib.loads(read_text(file))
        _ = str(values)  # no whole number in base 16 is longer than Python shows
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"{_OPTION} {file}: {getattr(error, 'strerror', None) or error}") from None
    known = [entry.name for entry in fields(Settings) if entry.name not in OF_A_RUN]
    given_alone = {entry.name for entry in fields(SearchOptions)}.difference(known)
    words = list[str]()
    for key, value in values.items():
        name = key.replace("-", "_")
        if name in given_alone:
            raise UsageError(
                f"{_OPTION} {file}: {key} belongs to a run, not into a file; give {option(name)} on the command line"
            )
        if name not in known:
            raise UsageError(
                f"{_OPTION} {file}: {key} is no option; {hint(option(name), list(map(option, known)), 'see --help')}"
            )
        if name == "set" and isinstance(value, dict):
            fixed = {each: _text(file, f"set.{each}", one) for each, one in value.items()}
            named = {word.partition("=")[0] for word in _after_set(given)}
            pairs = [f"{each}={text}" for each, text in fixed.items() if each not in named]
            words += [option(name), *pairs] if pairs else []
        elif (is_flag := isinstance(getattr(Settings, name), bool)) != isinstance(value, bool):
            takes = "true or false, without quotes" if is_flag else "a value, not true or false"
            raise UsageError(f"{_OPTION} {file}: {key}: it takes {takes}")
        elif is_flag:
            words += option_words(name, value)
        else:
            texts = value if isinstance(value, list) else [value]
            words += option_words(name, tuple(_text(file, key, one) for one in texts))
    return words


def _after_set(words: Sequence[str]) -> Iterator[str]:
    is_set = False
    for word in words:
        is_set = word == option("set") if word.startswith("--") else is_set
        if is_set:
            yield word


def _text(file: Path, key: str, value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, str | int | float):
        raise UsageError(f"{_OPTION} {file}: {key}: {_FORM}" + ("" if key != "set" else ", under [set]"))
    return str(value)


def as_file(settings: Settings) -> str:
    """Settings as the file that `with_file` reads, without the name, which would continue the experiment."""
    fixed = settings.fixed_texts() if settings.set else {}
    # Where nobody chose the weeks, nobody has when the file is read.
    left_out = {"name", "set", "last_evaluation", "further_weeks", *(["validation_weeks"] if settings.further_weeks else [])}
    values = {name: value for name, value in settings.to_json().items() if name not in left_out}
    # TOML writes texts, whole numbers, truths and lists of texts as JSON does.
    lines = [
        f"{option(name).removeprefix('--')} = {json.dumps(value)}" for name, value in values.items() if value not in ("", [])
    ]
    if fixed:
        lines += ["", "[set]", *(f"{name} = {json.dumps(text)}" for name, text in fixed.items())]
    return "\n".join(lines)
