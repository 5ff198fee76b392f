"""The model card says where a policy comes from and whether it was judged; the assignment says how it is trained."""

import tomllib
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from common.errors import UsageError
from envs.objective.columns import measures
from envs.scenarios.scenario import scenario
from results.judgement import write_table
from tests.tuning.exporting.judged_table import judgement_of
from tests.tuning.trial.small_trials import completed
from tuning.algorithms.registry import algorithm
from tuning.experiment.folder import Experiment, create
from tuning.experiment.settings import Settings
from tuning.export import main
from tuning.exporting.model_card import card, given_judgement, hyperparameters_toml, own_judgement
from tuning.judging.contenders import contenders, experiment_of
from tuning.judging.folder import Judgement, RaceSettings, create_or_open
from tuning.judging.settings import JudgeSettings
from tuning.search.proposals.plan import limits
from tuning.trial.protocol import Proposal
from tuning.trial.records import TrialRecords


def test_the_command_states_the_splits() -> None:
    own = Settings(scenario="a.json", backend="batch", train=("0-9", "20-29"), test_buildings=("one", "b two"))
    assert hyperparameters_toml({}, own).splitlines()[0].endswith(" --train 0-9 20-29 --test-buildings one 'b two'")


def test_a_card_says_whether_it_was_judged() -> None:
    metrics = {"score": 0.07, "import_kwh": 1.0, "co2_kg": 2.0, "bill": 3.0, "peak_kw": 4.0, "self_consumption": 0.9}
    rows = pd.DataFrame([{"year": 2, "hours": 168, "ev_served": 0.98, "pv_kwh": 1.0, **metrics}])
    text = card({"policy": "ppo-1, trial 3", "reward": "schema"}, rows, measures("PEN"), None, "")
    assert "not judged on unseen hours" in text
    assert "discomfort" not in text  # the site has none
    assert [line for line in text.splitlines() if line.startswith(("| CO2", "| bill", "| peak", "| PV used", "|  |"))] == [
        "|  | year 2, 168 hours |", "| CO2, kg | 104 |", "| bill, PEN | 156 |",
        "| peak, kW | 4.00 |", "| PV used | 90.0% |",
    ]  # fmt: skip
    about = {"policy": "ppo-1, trial 3", "reward": "schema"}
    judged = card(about, rows, measures(), judgement_of("ppo-1 3", "ppo-1 4"), "ppo-1 3")
    assert "judged on hours that no search has seen" in judged
    assert "Amounts are of a year of 8,760 h." in judged
    assert "| ppo-1 3 | 2 | +0.0700 (+0.0600 to +0.0800) |" in judged
    assert "| uncontrolled |  | +0.0700" in judged
    assert "ppo-1 4" not in judged
    assert "mean over the runs with Student's 95 % interval" in judged
    assert "168 hours" not in judged
    for own in (text, judged):
        assert own.startswith("# ppo-1, trial 3\n")
        assert "| reward | schema |" in own
        assert all(f"- `{name}`" in own for name in ("controller.py", "hyperparameters.toml", "policy.onnx"))
        assert "by `python controller.py SCHEMA.json [HOURS]`" in own
    episodes = rows.assign(hours=None)
    for table in (None, judgement_of("ppo-1 3", "ppo-1 4")):
        of_environment = card(about, episodes, measures(), table, "ppo-1 3", in_environment=True)
        assert "episodes that no search has seen" in of_environment or "not judged on unseen episodes" in of_environment
        assert "8,760" not in of_environment


def test_a_path_does_not_leave_its_comment_and_values_are_toml() -> None:
    own = Settings(scenario="a\n[gamma]\nvalue = 0.5\x1b/schema.json", backend="batch")
    values = tomllib.loads(hyperparameters_toml({"activation": "größer \U0001f600 \x7f"}, own))
    assert values == {"activation": {"value": "größer \U0001f600 \x7f"}}


def test_what_a_row_says_is_no_markdown() -> None:
    rows = pd.DataFrame([{"year": 2, "hours": 168, "score": 1.0, "ev_served": 0.98}])
    about = {"policy": "p", "commit": "abc | x |\n\n# forged <img src=a>", "versions": "[torch](http://a)"}
    name = "ppo-1 3 | <b>"
    for text in (card(about, rows, measures(), None, ""), card(about, rows, measures(), judgement_of(name), name)):
        assert r"| commit | abc \| x \|\\n\\n# forged \<img src=a\> |" in text
        assert r"| versions | \[torch\](http://a) |" in text
    assert r"| ppo-1 3 \| \<b\> |" in text


def test_the_command_has_both_objectives_as_the_share_of_the_reward_is_theirs() -> None:
    own = Settings(scenario="a.json", backend="batch", objective="co2_kg bill")
    lines = hyperparameters_toml({"reward_share": 0.3}, own).splitlines()
    assert lines[0].endswith(" --objective co2_kg bill")
    assert lines[-1] == "reward_share = {value = 0.3}"


STEPS = 100_000
JUDGE = JudgeSettings((), seed=1)
DEFAULT = algorithm("ppo").preset("default", {}, limits(STEPS))


def experiment(
    folder: Path, name: str = "one", steps: int = STEPS, scenario_name: str = "iquitos", **others: Any
) -> Experiment:
    """With the default assignment as trial 0 and another one as trial 1, both complete."""
    of = create(Settings(scenario=scenario_name, backend="batch", name=name, dir=str(folder), steps=steps, **others))
    return completed(of, (0.1, {}), (0.1, {"gamma": 0.5}))


def judge(folder: Path, *experiments: Experiment) -> Judgement:
    """A judgement of experiments as it is when the table is written."""
    asked = RaceSettings(scenario(experiments[0].settings.scenario).key, 2, 1)
    judgement, _ = create_or_open(folder / "judgement", asked, contenders(experiments, 2))
    for contender in judgement.contenders:
        experiment_of(contender, judgement.paths, JUDGE)
    write_table(judgement.paths.table, judgement_of(*(contender.name for contender in judgement.contenders)), {})
    return judgement


@pytest.fixture
def judged(tmp_path: Path) -> tuple[Experiment, Judgement]:
    of = experiment(tmp_path)
    return of, judge(tmp_path, of)


def test_a_trial_with_the_default_assignment_is_judged_as_the_default(judged: tuple[Experiment, Judgement]) -> None:
    of, judgement = judged
    assert given_judgement(of, 0, judgement.paths.folder)[1] == f"ppo default, {STEPS:,} steps"
    table, name = given_judgement(of, 1, judgement.paths.folder)
    assert name == "one 1"
    assert name in set(table["contender"])


def test_what_was_trained_otherwise_was_not_judged(judged: tuple[Experiment, Judgement], tmp_path: Path) -> None:
    _, judgement = judged
    shorter = experiment(tmp_path, "shorter", STEPS // 2)
    elsewhere = experiment(tmp_path, "elsewhere", scenario_name="iquitos:pv_kwp=4162")
    unknown = experiment(tmp_path, "unknown")
    TrialRecords(unknown).begin(Proposal(2, {**DEFAULT, "gamma": 0.6}))
    rewarded = experiment(tmp_path, "rewarded", reward="schema")
    for own, number in ((shorter, 0), (elsewhere, 0), (unknown, 2), (rewarded, 0)):
        with pytest.raises(UsageError, match=f"trial {number} of {own.settings.name}") as refused:
            given_judgement(own, number, judgement.paths.folder)
        assert "\n" not in str(refused.value)


def test_of_two_experiments_with_one_assignment_each_has_its_own_row(tmp_path: Path) -> None:
    pair = [experiment(tmp_path, "first"), experiment(tmp_path, "second")]
    judgement = judge(tmp_path, *pair)
    assert [given_judgement(of, 1, judgement.paths.folder)[1] for of in pair] == ["first 1", "second 1"]


@pytest.mark.parametrize("missing", ["table", "settings"])
def test_a_folder_without_a_judgement_is_refused(judged: tuple[Experiment, Judgement], missing: str) -> None:
    of, judgement = judged
    path: Path = getattr(judgement.paths, missing)
    path.unlink()
    with pytest.raises(UsageError, match=f"there is no {path.name} in it"):
        given_judgement(of, 0, judgement.paths.folder)


def test_a_run_of_a_judgement_finds_its_contender(judged: tuple[Experiment, Judgement]) -> None:
    of, judgement = judged
    for contender in judgement.contenders:
        assert own_judgement(experiment_of(contender, judgement.paths, JUDGE))[1] == contender.name
    assert own_judgement(of) == (None, "")


def test_a_run_that_the_table_lacks_was_not_judged(judged: tuple[Experiment, Judgement]) -> None:
    _, judgement = judged
    write_table(judgement.paths.table, judgement_of("another"), {})
    run = experiment_of(judgement.contenders[0], judgement.paths, JUDGE)
    assert own_judgement(run) == (None, "")


def test_a_run_whose_judgement_has_a_table_alone_is_refused(judged: tuple[Experiment, Judgement]) -> None:
    _, judgement = judged
    run = experiment_of(judgement.contenders[0], judgement.paths, JUDGE)
    judgement.paths.settings.unlink()
    with pytest.raises(UsageError, match="restore it from a copy"):
        own_judgement(run)


def test_a_damaged_table_is_told_in_a_line_with_what_writes_it_anew(
    judged: tuple[Experiment, Judgement], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    of, judgement = judged
    paths = judgement.paths
    paths.table.write_bytes(b"PAR1 and no more")
    command = [str(of.paths.folder), "--trial", "0", "--to", str(tmp_path / "mall"), "--judgement", str(paths.folder)]
    assert main(command) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"error: {paths.table}: ")
    assert line.endswith(f"--name {paths.folder.name}")
