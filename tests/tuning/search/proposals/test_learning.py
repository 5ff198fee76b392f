"""Trials of other experiments are read with their ranks, and what cannot teach is told."""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from optuna.trial import FrozenTrial, TrialState, create_trial

from common.errors import OtherFormatError, UsageError
from tests.tuning.search.fakes import AskedStudy, asked_study
from tuning.algorithms.registry import algorithm, algorithm_of
from tuning.experiment.folder import LEARNED, Experiment, create
from tuning.experiment.settings import Settings
from tuning.search.proposals.learning import digest, expected_ends, learned_from, read_learned, text_of, usable
from tuning.search.proposals.transfer import LearnedExperiment, LearnedTrial
from tuning.search.record.study import read_trials
from tuning.search.record.trials import Key

LIMITS = {"steps": 1000.0}
RUNG = 100
SPACE = algorithm("ppo").space
FULL = SPACE.complete({}, {"steps": 4096.0})
LEARNT = (LearnedExperiment("elsewhere", "2 of 3 trials", (LearnedTrial(0, 2.0, FULL), LearnedTrial(2, 1.0, FULL))),)


def experiment(folder: Path, name: str = "before", **others: object) -> Experiment:
    settings = Settings(name=name, dir=str(folder), backend="batch", steps=1000, **others)  # type: ignore[arg-type]
    return create(settings)


def trained(of: Experiment, curves: Sequence[Sequence[float]]) -> AskedStudy:
    """Trials with these ratings after each rung, frozen there; a trial with ten is complete."""
    memory = asked_study(of, {}, LIMITS["steps"])
    for curve in curves:
        memory.train(*curve, is_complete=len(curve) == 10)
    return memory


def rising(end: float, rungs: int = 10) -> list[float]:
    return [end * min(1.0, place / 5) for place in range(1, rungs + 1)]


def now(folder: Path, **others: object) -> Settings:
    return Settings(**{"learn_from": (str(folder),), **others})  # type: ignore[arg-type]


def test_trials_are_ranked_by_the_ends_that_are_expected_whatever_their_steps(tmp_path: Path) -> None:
    of = experiment(tmp_path)
    trained(of, [rising(0.1), rising(0.2), rising(0.5, rungs=4), rising(0.05, rungs=4), rising(0.3, rungs=1)])
    (found,) = learned_from(now(of.paths.folder))
    assert [trial.trial for trial in found.trials] == [0, 1, 2, 3]
    by_number = {trial.trial: trial.rank for trial in found.trials}
    assert by_number[2] == 1.0  # it stands at 0.4 after four rungs, and others rose on
    assert by_number[1] < by_number[0] < by_number[3]
    assert found.summary == "4 of 5 trials (not used: 1 below 20% of their steps)"
    assert found.trials[0].hyperparameters.keys() == algorithm("ppo").space.describe().keys()


def with_curve(number: int, curve: dict[int, float], is_complete: bool = True, **own: Any) -> FrozenTrial:
    """A trial with these ratings after so many steps, and hyperparameters other than the default ones."""
    trial = create_trial(
        state=TrialState.COMPLETE if is_complete else TrialState.WAITING,
        value=curve[max(curve)] if is_complete else None,
        user_attrs={Key.HYPERPARAMETERS: {**SPACE.complete({}, LIMITS), **own}},
        intermediate_values=curve,
    )
    trial.number = number
    return trial


def test_the_model_of_ends_sees_what_was_searched_for_the_site_too(tmp_path: Path) -> None:
    """Trials that share their policy rise on. One that was frozen early is expected to do what those do that are like it."""
    trials = []
    for number in range(10):
        shared = number % 2 == 1
        rungs, most = 10 if number < 8 else 2, 1.0 if shared else 0.25
        curve = {RUNG * rung: min(0.1 * rung, most) for rung in range(1, rungs + 1)}
        trials.append(with_curve(number, curve, rungs == 10, shared_policy=shared))
    ends = expected_ends(trials, experiment(tmp_path))
    assert ends[9] - ends[8] > 0.2


def test_values_that_are_none_are_read_beside_numbers(tmp_path: Path) -> None:
    given = [(None, 0.1), (0.02, 0.9), (0.01, 0.9), (None, 0.2)]
    trials = [with_curve(number, {1000: most}, target_kl=own) for number, (own, most) in enumerate(given)]
    assert expected_ends(trials, experiment(tmp_path)).keys() == {0, 1, 2, 3}


def test_one_damaged_trial_spoils_no_rank(tmp_path: Path) -> None:
    of = experiment(tmp_path)
    sound = [with_curve(number, {500: 0.1 * number, 1000: 0.2 * number}, gamma=0.9 + number / 100) for number in range(4)]
    damaged: list[Any] = [
        {-1: 0.3, 1000: 0.3},
        {1000: 10**400},
        {1000: math.inf, 900: 1e300},
        {"x": 0.1, 1000: 0.1},
        {1000: "a"},
    ]
    for number, curve in enumerate(damaged, 4):
        trial = with_curve(number, {1000: 0.1})
        trial.intermediate_values = curve
        sound.append(trial)
    used, left_out = usable(sound, of.settings, SPACE)
    assert set(used) == {0, 1, 2, 3, 4, 7}, left_out
    ends = expected_ends([sound[number] for number in used], of)
    assert all(math.isfinite(end) for end in ends.values())
    assert ends[3] > ends[2] > ends[1]


def test_only_ranks_count_so_another_scale_of_scores_teaches_the_same(tmp_path: Path) -> None:
    one, other = experiment(tmp_path, "one"), experiment(tmp_path, "other")
    ends = (0.1, 0.3, 0.2, 0.05)
    trained(one, [rising(end) for end in ends])
    trained(other, [rising(1e4 * end) for end in ends])
    first, second = learned_from(Settings(learn_from=(str(one.paths.folder), str(other.paths.folder))))
    assert first.trials == second.trials
    assert sorted(trial.rank for trial in first.trials) == [1.0, 2.0, 3.0, 4.0]


def test_the_other_experiment_stays_as_it_is(tmp_path: Path) -> None:
    of = experiment(tmp_path)
    trained(of, [rising(0.1), rising(0.2)])
    with of.paths.study.open("ab") as journal:
        journal.write(b'{"op_code": ')  # a run of it writes just now
    before = {path: path.read_bytes() for path in of.paths.folder.rglob("*") if path.is_file()}
    assert len(read_trials(of)) == 2
    learned_from(now(of.paths.folder))
    assert {path: path.read_bytes() for path in of.paths.folder.rglob("*") if path.is_file()} == before


def test_trials_that_cannot_teach_are_left_out_by_reason(tmp_path: Path) -> None:
    of = experiment(tmp_path)
    memory = trained(of, [rising(0.1), rising(0.2), rising(0.3)])
    memory.stop(memory.ask().number, TrialState.FAIL, "crash")
    memory.stop(memory.ask().number, TrialState.PRUNED, "too big", {Key.MEASURED: 1})
    trials = read_trials(of)
    used, left_out = usable(trials, of.settings, algorithm("ppo").space)
    assert set(used) == {0, 1, 2}
    assert left_out == {"that failed": 1, "that did not fit into memory": 1}
    trials[0].user_attrs[Key.HYPERPARAMETERS]["profile_hours"] = 12  # a version before searched it
    trials[1].user_attrs[Key.HYPERPARAMETERS]["of_another_version"] = 1
    used, left_out = usable(trials, of.settings, algorithm("ppo").space)
    assert set(used) == {2}
    assert left_out["with hyperparameters that this version does not take"] == 2


@pytest.mark.parametrize(("today", "expected"), [("co2 bill", 0.8), ("bill co2", 0.2), ("score", None), ("co2 ramping", None)])
def test_the_share_of_two_objectives_goes_along_where_it_means_the_same(
    tmp_path: Path, today: str, expected: float | None
) -> None:
    of = experiment(tmp_path, objective="co2 bill")
    space = algorithm_of(of.settings).space
    memory = asked_study(of, {"reward_share": 0.8}, LIMITS["steps"], space=space)
    for end in (0.1, 0.2):
        memory.train(*[(end, end)] * 10, is_complete=True)
    (found,) = learned_from(now(of.paths.folder, objective=today))
    ours = algorithm_of(Settings(objective=today)).space
    default = ours["reward_share"].default if "reward_share" in ours else None
    shares = [trial.hyperparameters.get("reward_share") for trial in found.trials]
    assert shares == [pytest.approx(default if expected is None else expected)] * 2
    assert [trial.rank for trial in found.trials] == [2.0, 1.0]


def test_what_cannot_be_learned_from_is_one_line(tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    of, sac, empty = experiment(tmp_path), experiment(tmp_path, "sac", algo="sac"), experiment(tmp_path, "empty")
    trained(of, [rising(0.1), rising(0.2)])
    cases = {
        (missing,): "no experiment in ",
        (sac.paths.folder,): "it is an experiment of sac, not of ppo; leave it out",
        (empty.paths.folder,): "ranks need at least 2 trials, and it has 0 of 0 trials",
        (of.paths.folder, of.paths.folder): "it is given twice; leave one out",
    }
    for folders, message in cases.items():
        with pytest.raises(UsageError, match=f"^--learn-from .*{message}") as error:
            learned_from(Settings(learn_from=tuple(map(str, folders))))
        assert len(str(error.value).splitlines()) == 1
    content = of.paths.study.read_bytes()
    of.paths.study.write_bytes(b"no entry\n" + content)
    with pytest.raises(
        UsageError, match=rf"^--learn-from .*{of.paths.study.name} is damaged \(line 1 is no entry.*leave it out$"
    ):
        learned_from(now(of.paths.folder))


def learning_experiment(folder: Path, text: str) -> Experiment:
    settings = Settings(name="one", dir=str(folder), backend="batch", learn_from=("elsewhere",))
    return create(settings, {LEARNED: digest(text)}, text)


def test_it_is_read_as_it_was_written(tmp_path: Path) -> None:
    assert read_learned(learning_experiment(tmp_path, text_of(LEARNT)), SPACE) == LEARNT
    assert read_learned(experiment(tmp_path), SPACE) == ()  # it learns from none


def test_a_file_that_is_missing_or_changed_is_one_line(tmp_path: Path) -> None:
    own = learning_experiment(tmp_path, text_of(LEARNT))
    text = own.paths.learned.read_text(encoding="utf-8")
    own.paths.learned.write_text(text.replace('"rank": 2.0', '"rank": 1.0'), encoding="utf-8")
    with pytest.raises(UsageError, match=r"learned\.json is damaged \(its content has changed .*restore it from a copy$"):
        read_learned(own, SPACE)
    own.paths.learned.unlink()
    with pytest.raises(UsageError, match=r"learned\.json cannot be read .*restore it from a copy$"):
        read_learned(own, SPACE)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"experiments": [{"folder": "a", "summary": "b", "trials": [{"trial": 0, "rank": 1.0}]}]}, "lacks hyperparameters"),
        (
            {"experiments": [{"folder": "a", "summary": "b", "trials": [
                {"trial": 0, "rank": 1.0, "hyperparameters": {**FULL, "gamma": 2.0}}]}]},
            "gamma=2.0",
        ),
    ],
)  # fmt: skip
def test_content_of_another_form_is_one_line(tmp_path: Path, change: dict[str, object], message: str) -> None:
    own = learning_experiment(tmp_path, json.dumps({**json.loads(text_of(LEARNT)), **change}))
    with pytest.raises(UsageError, match=message) as error:
        read_learned(own, SPACE)
    assert len(str(error.value).splitlines()) == 1


def test_a_later_format_is_not_read(tmp_path: Path) -> None:
    own = learning_experiment(tmp_path, json.dumps({**json.loads(text_of(LEARNT)), "format": 2}))
    with pytest.raises(OtherFormatError, match="use the version that wrote it"):
        read_learned(own, SPACE)
