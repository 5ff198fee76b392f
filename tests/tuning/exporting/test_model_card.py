"""The model card says where a policy comes from and whether it was judged; the assignment says how it is trained."""

import tomllib

import pandas as pd
import pytest

from tests.tuning.exporting.judged_table import judgement_of
from tuning.experiment.settings import Settings
from tuning.exporting.model_card import card, hyperparameters_toml


def test_the_command_is_quoted_as_the_systems_own_shell_takes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    own = Settings(scenario="my site/schema.json", backend="batch")
    assert " --scenario 'my site/schema.json' " in hyperparameters_toml({}, own).splitlines()[0]
    monkeypatch.setattr("common.texts.os.name", "nt")
    assert ' --scenario "my site/schema.json" ' in hyperparameters_toml({}, own).splitlines()[0]


def test_the_command_states_the_splits() -> None:
    own = Settings(scenario="a.json", backend="batch", train=("0-9", "20-29"), test_buildings=("one", "b two"))
    assert hyperparameters_toml({}, own).splitlines()[0].endswith(" --train 0-9 20-29 --test-buildings one 'b two'")


def test_a_card_says_whether_it_was_judged() -> None:
    metrics = {"score": 0.07, "import_kwh": 1.0, "co2_kg": 2.0, "bill": 3.0, "peak_kw": 4.0, "self_consumption": 0.9}
    rows = pd.DataFrame([{"year": 2, "hours": 168, "ev_served": 0.98, "pv_kwh": 1.0, **metrics}])
    text = card({"policy": "ppo-1, trial 3", "reward": "schema"}, rows, None, "")
    assert "not judged on unseen years" in text
    assert [line for line in text.splitlines() if line.startswith(("| CO2", "| peak", "| PV used", "|  |"))] == [
        "|  | year 2, 168 hours |", "| CO2, kg | 104 |", "| peak, kW | 4.00 |", "| PV used | 0.900 |",
    ]  # fmt: skip
    judged = card({"policy": "ppo-1, trial 3", "reward": "schema"}, rows, judgement_of("ppo-1 3", "ppo-1 4"), "ppo-1 3")
    assert "judged on years that no search has seen" in judged
    assert "amounts of a year of 8,760 h" in judged
    assert "| ppo-1 3 | 2 | +0.0700 (+0.0600 to +0.0800) |" in judged
    assert "| uncontrolled |  | +0.0700" in judged
    assert "ppo-1 4" not in judged
    assert "mean over the runs with Student's 95 % interval" in judged
    assert "168 hours" not in judged
    for own in (text, judged):
        assert own.startswith("# ppo-1, trial 3\n")
        assert "| reward | schema |" in own
        assert all(f"- `{name}`" in own for name in ("controller.py", "hyperparameters.toml", "policy.onnx"))


def test_a_path_does_not_leave_its_comment_and_values_are_toml() -> None:
    own = Settings(scenario="a\n[gamma]\nvalue = 0.5\x1b/schema.json", backend="batch")
    values = tomllib.loads(hyperparameters_toml({"activation": "größer \U0001f600 \x7f"}, own))
    assert values == {"activation": {"value": "größer \U0001f600 \x7f"}}


def test_what_a_row_says_is_no_markdown() -> None:
    rows = pd.DataFrame([{"year": 2, "hours": 168, "score": 1.0, "ev_served": 0.98}])
    about = {"policy": "p", "commit": "abc | x |\n\n# forged <img src=a>", "versions": "[torch](http://a)"}
    name = "ppo-1 3 | <b>"
    for text in (card(about, rows, None, ""), card(about, rows, judgement_of(name), name)):
        assert r"| commit | abc \| x \|\\n\\n# forged \<img src=a\> |" in text
        assert r"| versions | \[torch\](http://a) |" in text
    assert r"| ppo-1 3 \| \<b\> |" in text


def test_the_command_has_both_objectives_as_the_share_of_the_reward_is_theirs() -> None:
    own = Settings(scenario="a.json", backend="batch", objective="co2_kg bill")
    lines = hyperparameters_toml({"reward_share": 0.3}, own).splitlines()
    assert lines[0].endswith(" --objective co2_kg bill")
    assert lines[-1] == "reward_share = {value = 0.3}"
