"""How a landscape is recorded: the commands, and how finished trials are packed. Nothing is trained here."""

from pathlib import Path

from benchmarks.record_landscape import NEAR, Options, commands, narrow_space
from search_spaces.overrides import override
from tuning.algorithms.registry import algorithm


def test_half_of_the_draws_lie_around_the_default_and_half_in_the_whole_space(tmp_path: Path) -> None:
    (near, first), (whole, second) = commands(Options(trials=101, work=tmp_path), tmp_path / "near.toml")
    assert (near.name, whole.name) == ("iquitos-38-ppo-near", "iquitos-38-ppo-whole")
    assert first[first.index("--trials") + 1] == "50"
    assert second[second.index("--trials") + 1] == "51"
    assert "--space" in first
    assert "--space" not in second
    assert first[first.index("--seed") + 1] != second[second.index("--seed") + 1]


def test_what_is_there_is_resumed(tmp_path: Path) -> None:
    (tmp_path / "iquitos-38-ppo-near").mkdir()
    (_, resumed), (_, begun) = commands(Options(work=tmp_path), tmp_path / "near.toml")
    assert "--resume" in resumed
    assert "--resume" not in begun


def test_the_narrow_space_is_valid_and_holds_the_default(tmp_path: Path) -> None:
    (tmp_path / "near.toml").write_text(narrow_space())
    space = override(algorithm("ppo").space, tmp_path / "near.toml")
    assert all(NEAR[name][0] <= space[name].default <= NEAR[name][1] for name in NEAR if name != "ent_coef")  # type: ignore[operator]
