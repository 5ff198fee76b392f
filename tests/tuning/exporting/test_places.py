"""A folder is there whole or not at all, and says where its policy is from."""

from pathlib import Path

import pytest

from tests.tuning.trial.small_trials import completed, in_environment
from tuning.exporting.places import about_policy, beside


def test_a_new_folder_becomes_the_target_in_the_end_and_else_is_gone(tmp_path: Path) -> None:
    to = tmp_path / "above" / "mine"

    def cut_off() -> None:
        with beside(to) as new:
            (new / "half").touch()
            assert not to.exists()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cut_off()
    assert not to.parent.exists()
    with beside(to) as new:
        (new / "whole").touch()
    assert [path.name for path in to.iterdir()] == ["whole"]
    assert list(to.parent.iterdir()) == [to], "nothing else is left"


def test_facts_say_what_was_trained_where_and_for_how_long(tmp_path: Path) -> None:
    of = completed(in_environment(tmp_path / "one", "CartPole-v1", "ppo"), (1.0, {}))
    about = about_policy(of, 0, {"environment": "CartPole-v1"}, 1234)
    assert list(about) == ["policy", "algorithm", "environment", "reward", "trained for", "versions", "commit"]
    assert about["policy"] == "one, trial 0"
    assert about["reward"] == "environment"
    assert about["trained for"].startswith("1,234 steps with seed ")
