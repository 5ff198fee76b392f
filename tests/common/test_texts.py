"""What people and shells read stands for itself, and what people type is what they mean."""

import os
import re
import shlex
from dataclasses import fields

import pytest

from common.texts import (
    ELSEWHERE,
    INSTEAD,
    counted,
    duration,
    hint,
    markdown,
    printable,
    python_command,
    quoted,
    raised,
    whole_number,
)
from tuning.algorithms.registry import algorithm
from tuning.experiment.settings import Settings


def test_one_of_a_kind_has_no_plural() -> None:
    assert (counted(0, "trial"), counted(1, "trial"), counted(2000, "trial")) == ("0 trials", "1 trial", "2,000 trials")


def test_characters_that_act_on_a_terminal_are_escapes_and_others_stay() -> None:
    assert printable("größer → 100 %") == "größer → 100 %"
    assert printable("a\x1b[2Jb\r\nerror: c\x9b\u202e\ud800") == r"a\x1b[2Jb\r\nerror: c\x9b\u202e\ud800"


def test_a_text_stands_for_itself_in_markdown() -> None:
    assert markdown("ppo-1 3, pv_kwp=4162: +0.07 (+0.06 to +0.08)") == "ppo-1 3, pv_kwp=4162: +0.07 (+0.06 to +0.08)"
    assert markdown("a | [b](c)\n<img> `*`") == r"a \| \[b\](c)\\n\<img\> \`\*\`"


@pytest.mark.parametrize(
    ("word", "known", "remedy"),
    [
        ("gama", ["gamma", "tau"], "did you mean gamma?"),
        ("lr", ["learning_rate", "tau"], "did you mean learning_rate?"),
        ("train_batch_size", ["n_steps", "batch_size"], "did you mean n_steps?"),
        ("clip_param", ["tau"], "there are tau"),  # of another algorithm
        ("buffer_size", ["gamma"], "it is of another algorithm; there are gamma"),
        ("n_envs", ["gamma"], "did you mean --num-envs?"),
        ("N-Steps", ["gamma", "n_steps"], "did you mean n_steps?"),
        ("steps", ["n_steps"], "did you mean --steps?"),
        ("Reward_Share", ["gamma", "reward_share"], "did you mean reward_share?"),
        ("reward_share", ["gamma", "reward_scale"], INSTEAD["reward_share"]),
        ("dataset", ["iquitos", "default"], "there are iquitos, default"),  # no hyperparameters
        ("cost", ["bill", "energy_cost"], "did you mean bill?"),
        ("--env-id", ["--scenario", "--env"], "did you mean --env?"),
        ("--device", ["--dir"], "did you mean --dir?"),  # of a command that trains nothing
        ("--trails", ["--trials", "--set"], "did you mean --trials?"),
        ("--gama", ["--name", "--set"], "did you mean --set gamma=...?"),
        ("--gama", ["--name"], "did you mean --name?"),
        ("--lr", ["--trials", "--set"], "did you mean --set learning_rate=...?"),
        ("--lr", ["--to"], "there are --to"),  # of a command that sets none
    ],
)
def test_a_wrong_word_is_hinted_at_by_what_it_means_elsewhere_or_the_nearest(word: str, known: list[str], remedy: str) -> None:
    assert hint(word, known) == remedy


def test_each_word_of_other_libraries_stands_for_something_that_there_is() -> None:
    hyperparameters = {own.name for name in ("ppo", "a2c", "sac") for own in algorithm(name).space.parameters}
    options = {f"--{entry.name.replace('_', '-')}" for entry in fields(Settings)}
    assert {name for names in ELSEWHERE.values() for name in names} <= hyperparameters | options
    assert not hyperparameters & ELSEWHERE.keys()
    assert not options & {f"--{word.replace('_', '-')}" for word in INSTEAD}
    assert all(named in options for sentence in INSTEAD.values() for named in re.findall(r"--[a-z-]+", sentence))


def test_a_duration_has_hours_minutes_and_seconds() -> None:
    assert [duration(seconds) for seconds in (-1.0, 59.6, 3723.4)] == ["0:00:00", "0:01:00", "1:02:03"]


@pytest.mark.parametrize(
    ("text", "value"),
    [("1e6", 1_000_000), ("1_000_000", 1_000_000), (" 7 ", 7), ("-3", -3), ("2.0", 2), ("9007199254740993", 2**53 + 1)],
)
def test_a_whole_number_is_typed_in_several_ways(text: str, value: int) -> None:
    assert whole_number(text) == value
    assert isinstance(whole_number(text), int)


@pytest.mark.parametrize("text", ["1.5", "1e-3", "nan", "inf", "1e400", "many", "", "\uff11", "1\u0660", "0x10"])
def test_what_is_no_whole_number_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"is no (whole )?number"):
        whole_number(text)


def test_a_path_with_a_space_stays_one_argument_and_under_uv_it_runs_under_uv(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("UV_RUN_RECURSION_DEPTH", raising=False)
    line = python_command("tuning.run", "--resume", "/a b/it's")
    if os.name != "nt":
        assert shlex.split(line) == ["python", "-m", "tuning.run", "--resume", "/a b/it's"]
    assert python_command("tuning.run", "--resume", "/a/b") == "python -m tuning.run --resume /a/b"
    monkeypatch.setenv("UV_RUN_RECURSION_DEPTH", "1")
    assert python_command("tuning.run") == "uv run python -m tuning.run"


@pytest.mark.parametrize(
    ("argument", "typed"),
    [
        (r"C:\a b\c", r'"C:\a b\c"'),
        (r"C:\a&calc", r'"C:\a&calc"'),
        ("C:\\a&b\\", '"C:\\a&b\\\\"'),
        ("100%PATH%", '"100"^%"PATH"^%'),
        ("a&%b", '"a&"^%"b"'),
        ('a"b&c', '"a"\\^""b&c"'),
        ("a\\%", '"a\\\\"^%'),
        ("", '""'),
        ("key=1.5", "key=1.5"),
    ],
)
def test_on_windows_cmd_reads_nothing_in_an_argument(monkeypatch: pytest.MonkeyPatch, argument: str, typed: str) -> None:
    with monkeypatch.context() as on_windows:
        on_windows.setattr("common.texts.os.name", "nt")
        line = quoted([argument])
    assert line == typed


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", ""),
        ("no luck", "no luck"),
        ('  File "a.py", line 3, in f\nValueError: \nno luck', "ValueError: no luck"),
        ("Traceback\nValueError: no luck", "ValueError: no luck"),
        ('  File "a.py", line 3, in f\n    g()\n    ^^^\nValueError: no luck\nmore\n  of it', "ValueError: no luck"),
        ('  File "a.py", line 3, in f\nKeyError: 1\n\nDuring it:\n  File "b.py", line 1\n    g()\nOSError: 2', "OSError: 2"),
    ],
)
def test_of_a_traceback_the_line_that_names_the_exception_is_told(text: str, says: str) -> None:
    assert raised(text) == says
