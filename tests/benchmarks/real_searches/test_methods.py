import importlib.util

import pytest

from benchmarks.real_searches.methods import check, parsed
from common.errors import UserError


def test_fixed_hyperparameters_follow_a_colon() -> None:
    assert parsed("ours") == ("ours", ())
    assert parsed("ours:plan=none,gamma=0.99") == ("ours", ("plan=none", "gamma=0.99"))


@pytest.mark.parametrize(
    ("method", "fault"),
    [
        ("theirs", 'methods "theirs": there is no such method; name some of ours, default, ray-tune, sb3'),
        ("default:gamma=0.9", "only ours and ray-tune take hyperparameters"),
        ("ours:plans=none", "no hyperparameter plans: did you mean plan"),
        ("ours:gamma=2", "gamma=2"),
        ("ours:gamma", "KEY=VALUE"),
    ],
)
def test_a_wrong_method_is_one_line(method: str, fault: str) -> None:
    with pytest.raises(UserError, match=fault) as raised:
        check(method)
    assert "\n" not in str(raised.value)


def test_sb3_without_its_library_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UserError, match="uv sync --group benchmarks, or leave the method out"):
        check("sb3")
    check("ours")
