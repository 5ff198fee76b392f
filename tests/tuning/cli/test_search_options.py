"""Options from a file: what stands beside it goes before it, and what a search used is such a file again."""

from dataclasses import replace
from pathlib import Path

import pytest

from common.errors import UsageError
from tuning.cli.command import parse
from tuning.cli.search_options import SearchOptions, as_file, with_file
from tuning.experiment.settings import OF_A_RUN, Settings
from tuning.run import main

FILE = """
algo = "sac"
num_envs = 8
budget = "30m"
weights = ["co2=0.5", "cost=0.5"]
objective = "co2 bill"
keep-checkpoints = "all"
[set]
gamma = 0.9
learn_charging = true
"""


def read(folder: Path, text: str, *more: str) -> Settings:
    file = folder / "search.toml"
    file.write_text(text, encoding="utf-8")
    return parse(SearchOptions, with_file(["--config", str(file), *more]), None, "x").settings


def test_a_file_has_the_options_by_their_names(tmp_path: Path) -> None:
    assert read(tmp_path, FILE) == Settings(
        algo="sac", num_envs=8, budget="30m", weights=("co2=0.5", "cost=0.5"), objective="co2 bill", keep_checkpoints="all",
        set=(("gamma=0.9", "learn_charging=true"),),
    )  # fmt: skip


def test_what_the_command_line_says_goes_before_the_file(tmp_path: Path) -> None:
    more = ("--algo=a2c", "--weights", "co2=1", "--keep-checkpoints", "best:3", "--set", "gamma=0.8")
    found = read(tmp_path, FILE, *more)
    assert (found.algo, found.weights, found.keep_checkpoints, found.budget) == ("a2c", ("co2=1",), "best:3", "30m")
    assert found.fixed_texts() == {"gamma": "0.8", "learn_charging": "true"}
    # A value of another option is none of --set.
    assert read(tmp_path, FILE, "--start-from", "gamma=0.7").fixed_texts() == {"gamma": "0.9", "learn_charging": "true"}


@pytest.mark.parametrize(
    "settings",
    [
        Settings(),
        Settings(start_from=("default", "planned gamma=0.95"), set=(("gamma=0.9",), ("tau=0.01", 'activation="x"'))),
        Settings(objective="co2 bill", require=("ev_served>=0.95",), dir="sites of ours\\x", confirm=0.1),
    ],
)
def test_settings_as_a_file_are_the_same_settings(settings: Settings, tmp_path: Path) -> None:
    again = read(tmp_path, as_file(replace(settings, name="not kept")))
    assert replace(again, set=()) == replace(settings, set=())
    assert again.fixed_texts() == settings.fixed_texts()


def test_weeks_that_nobody_chose_are_chosen_anew_by_whoever_reads_the_file(tmp_path: Path) -> None:
    assert read(tmp_path, as_file(Settings(validation_weeks=3, further_weeks=True))).validation_weeks == 52
    assert read(tmp_path, as_file(Settings(validation_weeks=3))).validation_weeks == 3


@pytest.mark.parametrize("name", [*OF_A_RUN, "config", "print_config"])
def test_what_belongs_to_a_run_is_in_no_file(name: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=f"{name} belongs to a run, not into a file"):
        read(tmp_path, f"{name} = true")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("n_trials = 3", "n_trials is no option; did you mean --trials"),
        ("trials = ", "Invalid value"),
        ("trials = 1979-05-27", "trials: it takes a text, a number"),
        ("set = [{gamma = 1}]", r"set: it takes .*, under \[set\]"),
        ("trials = 'many'", "--trials: 'many' is no number"),
        ("trials = true", "search.toml: trials: it takes a value, not true or false"),
        ("minimize = 'true'", "search.toml: minimize: it takes true or false"),
        pytest.param(f"trials = 0x{'f' * 5000}", "search.toml: Exceeds the limit", id="long number"),
        pytest.param(f"train = {'[' * 3000}{']' * 3000}", "search.toml: maximum recursion", id="nested deeply"),
    ],
)
def test_what_is_wrong_in_a_file_is_named(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=message):
        read(tmp_path, text)


def test_a_file_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    assert read(tmp_path, "\ufefftrials = 3").trials == 3


def test_a_file_that_is_not_there_is_refused_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--config", "nowhere.toml"]) == 2
    assert capsys.readouterr().err == "error: --config nowhere.toml: No such file or directory\n"


@pytest.mark.parametrize("algo", ["a2c", "all"])
def test_the_settings_of_a_command_line_are_printed_and_nothing_is_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], algo: str
) -> None:
    given = ["--dir", str(tmp_path), "--algo", algo, "--name", "one", "--scenario", "iquitos-38"]
    assert main(["--print-config", *given]) == 0
    printed = capsys.readouterr().out
    assert read(tmp_path / "..", printed) == Settings(algo=algo, dir=str(tmp_path), backend="batch", scenario="iquitos-38")
    assert not list(tmp_path.iterdir())
