"""The help of a search fits on a screen and leaves no option out."""

from dataclasses import fields
from itertools import chain

import pytest

from tuning.cli.help import ALL, OF_SEARCH, option
from tuning.cli.search_options import SearchOptions
from tuning.run import main

OPTIONS = [entry.name for entry in fields(SearchOptions) if "Suppress" not in str(entry.type)]


def test_every_option_has_one_place() -> None:
    assert sorted(filter(None, chain(*OF_SEARCH.values()))) == sorted(OPTIONS)


def test_the_help_fits_on_a_screen(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--algo", "sac", "--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 60
    assert max(map(len, lines)) <= 80
    words = " ".join(lines).replace(",", " ").split()
    assert all(option(name) in words for name in OPTIONS)
    assert any("CityLearn's sites" in line for line in lines)


def test_the_whole_help_is_one_option_away(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([ALL])
    assert not ended.value.code
    assert "--help-all" not in (whole := capsys.readouterr().out)
    assert "The command that began it" in " ".join(whole.replace("│", "").split())  # the last sentence of --resume
