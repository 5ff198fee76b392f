"""Which trial Tune is given next, and what becomes of one that ends, without Tune."""

import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from optuna.trial import FrozenTrial, TrialState

from results import load
from tests.tuning.roomy import planner, roomy
from tests.tuning.search.fakes import REPORTS, Control, adapters, decide, states
from tuning.algorithms.registry import algorithm
from tuning.experiment.budget import Budget
from tuning.experiment.folder import Experiment, create
from tuning.experiment.settings import Settings
from tuning.memory.placement import Placement
from tuning.memory.planner import FALLBACKS
from tuning.search.promotion.retries import MOST_LOSSES
from tuning.search.promotion.thawing import Thawing
from tuning.search.record.attributes import CONFIRMS, SAME_AS
from tuning.search.record.costs import Costs
from tuning.search.record.ledger import Ledger
from tuning.search.record.study import StudyMemory
from tuning.search.run.searcher import MOST_IN_VAIN, StudySearcher
from tuning.storage.search_files import SearchFiles
from tuning.trial.protocol import (
    DISK_FULL,
    EVALUATION,
    FALLBACK,
    HYPERPARAMETERS,
    MESSAGE,
    NUMBER,
    OUT_OF_MEMORY,
    OUTCOME,
    RAM_LIMIT,
    RUN,
    SCORE,
    STEPS,
    STOPPED,
    STORAGE_LOST,
    TRUSTED,
)
from tuning.trial.records import TrialRecords


@pytest.fixture
def experiment(tmp_path: Path) -> Experiment:
    return create(Settings(name="one", dir=str(tmp_path), trials=2, reports=REPORTS))


def test_trials_are_handed_out_up_to_their_number(experiment: Experiment) -> None:
    searcher, _ = adapters(experiment)
    assert [searcher.suggest(name)[NUMBER] for name in "ab"] == [0, 1]  # type: ignore[index]
    # One of these may have to be handed out again.
    assert searcher.suggest("c") is None
    for name in "ab":
        searcher.on_trial_complete(name, {STEPS: 4096, EVALUATION: REPORTS, SCORE: 0.1})
    assert searcher.suggest("d") == "FINISHED"


def test_a_trial_that_is_handed_out_runs(experiment: Experiment) -> None:
    searcher, _ = adapters(experiment)
    handed = [searcher.suggest(name) for name in "ab"]
    assert [config[RUN] for config in handed] == ["this"] * 2  # type: ignore[index]
    assert load(experiment.paths.folder).trials["state"].tolist() == ["running", "running"]


def test_trust_reaches_a_trial_by_its_configuration_alone(experiment: Experiment) -> None:
    for trusted in (False, True):
        searcher, _ = adapters(experiment.trusting(trusted))
        assert searcher.suggest("a")[TRUSTED] is trusted  # type: ignore[index]
    assert "trust_scenario" not in experiment.paths.settings.read_text(encoding="utf-8")


def lose(searcher: StudySearcher, name: str) -> Any:
    """Let the process of a trial die; what is handed out next."""
    searcher.on_trial_complete(name, None, error=True)
    return searcher.suggest(name + "'")


def test_a_lost_process_is_replaced_as_long_as_there_are_new_checkpoints(experiment: Experiment) -> None:
    control = Control()
    searcher, _ = adapters(experiment, control)
    name = "a"
    assert searcher.suggest(name)[NUMBER] == 0  # type: ignore[index]
    for times in range(3 * MOST_LOSSES):
        # Now and then there is another checkpoint.
        (experiment.paths.checkpoints(0) / f"{times // MOST_LOSSES:012d}").mkdir(parents=True, exist_ok=True)
        assert lose(searcher, name)[NUMBER] == 0
        name += "'"
    assert states(experiment) == ["running"]
    assert control.names() == ["on_left"] * 3 * MOST_LOSSES


def test_a_trial_fails_if_its_process_is_lost_again_and_again_at_one_checkpoint(experiment: Experiment) -> None:
    control = Control()
    searcher, _ = adapters(experiment, control)
    name = "a"
    searcher.suggest(name)
    for _ in range(MOST_LOSSES):
        assert lose(searcher, name)[NUMBER] == 0
        name += "'"
    assert lose(searcher, name)[NUMBER] == 1
    trials = load(experiment.paths.folder).trials
    assert trials["state"].tolist() == ["failed", "running"]
    assert trials["finished"].notna()[0]
    assert "died" in trials["error"][0]
    assert control.names()[-2:] == ["on_ended", "on_failed"]


@pytest.mark.parametrize("retries", [0, 2])
def test_a_crash_is_retried_some_times_then_the_trial_fails_with_its_traceback(experiment: Experiment, retries: int) -> None:
    experiment = replace(experiment, settings=replace(experiment.settings, retries=retries))
    control, records = Control(), TrialRecords(experiment)
    searcher, _ = adapters(experiment, control)
    name = "a"
    searcher.suggest(name)
    for crash in range(retries + 1):
        assert load(experiment.paths.folder).trials["error"].isna().all()
        records.count_crash(0, f"Traceback\nValueError: number {crash}")
        number = lose(searcher, name)[NUMBER]
        name += "'"
    assert number == 1
    trials = load(experiment.paths.folder).trials
    assert trials["state"].tolist() == ["failed", "running"]
    assert trials["crashes"].tolist() == [retries + 1, 0]
    assert trials["error"][0] == f"Traceback\nValueError: number {retries}"
    assert control.told[-1] == ("on_failed", trials["error"][0])
    assert searcher._memory._study.get_trials()[0].user_attrs["reason"] == f"ValueError: number {retries}"


def test_retries_last_over_runs(experiment: Experiment) -> None:
    searcher, _ = adapters(experiment)
    searcher.suggest("a")
    TrialRecords(experiment).count_crash(0, "Traceback\nValueError: once")
    lose(searcher, "a")
    again, _ = adapters(experiment)
    again.suggest("b")
    TrialRecords(experiment).count_crash(0, "Traceback\nValueError: twice")
    lose(again, "b")
    assert states(experiment) == ["failed", "running"]


@pytest.mark.parametrize("outcome", [STOPPED, DISK_FULL, STORAGE_LOST])
def test_a_trial_that_was_stopped_goes_on_with_the_next_run(experiment: Experiment, outcome: str) -> None:
    control = Control()
    searcher, _ = adapters(experiment, control)
    searcher.suggest("a")
    control.is_stopping = True
    searcher.on_trial_complete("a", {STEPS: 10, OUTCOME: outcome, MESSAGE: "no room"})
    assert searcher.suggest("b") == "FINISHED"
    assert control.told == [("on_left", 0), *([("stop", "no room")] if outcome != STOPPED else [])]
    assert states(experiment) == ["running"]
    again, _ = adapters(experiment)
    assert again.suggest("c")[NUMBER] == 0  # type: ignore[index]


def test_a_trial_without_a_turn_is_handed_out_again_as_long_as_the_run_goes_on(experiment: Experiment) -> None:
    class Files(SearchFiles):
        lost: str | None = None

        @property
        def failure(self) -> str | None:
            return self.lost

    control, files = Control(), Files()
    searcher, _ = adapters(experiment, control)
    searcher._files = files
    searcher.suggest("a")
    searcher.on_trial_complete("a", {OUTCOME: STOPPED})
    assert searcher.suggest("b")[NUMBER] == 0  # type: ignore[index]
    assert control.told[-1] == ("say", "trial 0: its turn to begin did not come in time; it continues from 0 steps")
    files.lost = "the bucket does not answer"
    searcher.on_trial_complete("b", {OUTCOME: STOPPED})
    assert control.told[-1] == ("on_left", 0)
    assert searcher.suggest("c")[NUMBER] == 1  # type: ignore[index]


def test_a_trial_is_handed_out_after_its_row_and_taken_back_before_its_row_is_read(experiment: Experiment) -> None:
    told: list[tuple[str, int, str | None]] = []

    class Files(SearchFiles):
        def hand_out(self, number: int) -> dict[str, Any]:
            told.append(("handed out", number, TrialRecords(experiment).state(number)))
            return {"turn": "mine"}

        def take_back(self, number: int) -> None:
            # As what its process wrote elsewhere comes back.
            TrialRecords(experiment).update(number, score=0.7, steps=4096)
            told.append(("taken back", number, TrialRecords(experiment).state(number)))

    searcher, _ = adapters(experiment)
    searcher._files = Files()
    config = searcher.suggest("a")
    assert isinstance(config, dict)
    assert config["turn"] == "mine"
    searcher.on_trial_complete("a", {STEPS: 4096, EVALUATION: REPORTS, SCORE: 0.7})
    assert told == [("handed out", 0, "running"), ("taken back", 0, "running")]
    assert TrialRecords(experiment).measured(0)["score"] == 0.7
    assert states(experiment) == ["complete"]


def test_an_assignment_that_was_tried_has_a_row_and_is_not_handed_out(experiment: Experiment) -> None:
    experiment = replace(experiment, settings=replace(experiment.settings, trials=3))
    control = Control()
    searcher, _ = adapters(experiment, control)
    searcher.suggest("a")
    TrialRecords(experiment).update(0, score=0.4, steps=4096)
    searcher.on_trial_complete("a", {STEPS: 4096, EVALUATION: REPORTS, SCORE: 0.4})
    draw, memory = searcher._memory.draw, searcher._memory
    first = memory.trials()[0]

    def repeats_once() -> FrozenTrial:
        drawn = draw()
        if memory.count == 1:
            drawn.set_user_attr(HYPERPARAMETERS, first.user_attrs[HYPERPARAMETERS])
            drawn.set_user_attr(SAME_AS, 0)
            drawn.state, drawn.values, drawn.datetime_complete = first.state, first.values, first.datetime_complete
        return drawn

    memory.draw = repeats_once  # type: ignore[method-assign]
    assert searcher.suggest("b")[NUMBER] == 2  # type: ignore[index]
    trials = load(experiment.paths.folder).trials
    assert trials["state"].tolist() == ["complete", "complete", "running"]
    assert trials["score"].tolist()[:2] == [0.4, 0.4]
    assert trials["steps"].tolist() == [4096, 0, 0]
    assert trials["same_as"].tolist()[1] == 0
    assert trials["same_as"].isna().tolist() == [True, False, True]
    assert ("on_ended", 1, "complete", 0.4) in control.told


@pytest.mark.parametrize("score", [float("nan"), float("inf")])
def test_a_score_that_is_no_number_is_a_failure_everywhere(experiment: Experiment, score: float) -> None:
    searcher, scheduler = adapters(experiment)
    searcher.suggest("a")
    assert decide(scheduler, **{STEPS: 20, EVALUATION: 1, SCORE: score}) == "CONTINUE"
    searcher.on_trial_complete("a", {STEPS: 4096, EVALUATION: REPORTS, SCORE: score})
    assert load(experiment.paths.folder).trials["state"].tolist() == ["failed"]
    assert [t.state.name for t in searcher._memory._study.get_trials()] == ["FAIL"]


def test_a_trial_that_is_handed_out_again_keeps_what_it_measured(experiment: Experiment) -> None:
    searcher, _ = adapters(experiment)
    searcher.suggest("a")
    TrialRecords(experiment).update(0, steps=128, score=0.5)
    again, _ = adapters(experiment)
    assert again.suggest("z")[NUMBER] == 0  # type: ignore[index]
    trials = load(experiment.paths.folder).trials
    assert trials["steps"].tolist() == [128]
    assert trials["score"].tolist() == [0.5]


def begin_two(of: Experiment, control: Any = None, adapt: bool = False) -> tuple[StudySearcher, TrialRecords]:
    memory = StudyMemory.open(of, algorithm("ppo").space, {}, {"steps": 4096.0})
    records = TrialRecords(of)
    searcher = StudySearcher(
        memory, records, of.paths.folder, 3, control or Control(), planner(of.settings, of.paths.folder, cores=8), 1, adapt
    )
    assert [searcher.suggest(name)[NUMBER] for name in "ab"] == [0, 1]  # type: ignore[index]
    return searcher, records


def run_out(searcher: StudySearcher, records: TrialRecords, name: str, number: int) -> None:
    records.count_out_of_memory(number, "Traceback\nOutOfMemoryError: too big")
    searcher.on_trial_complete(name, {OUTCOME: OUT_OF_MEMORY})


def test_a_trial_that_ran_out_of_memory_is_tried_again_alone(experiment: Experiment) -> None:
    control = Control()
    searcher, records = begin_two(experiment, control)
    run_out(searcher, records, "a", 0)
    line = "trial 0: out of memory (OutOfMemoryError: too big); next it is alone on the machine; it continues from 0 steps"
    assert ("say", line) in control.told
    # Trial 1 still runs, and nothing else begins.
    assert searcher.suggest("c") is None
    searcher.on_trial_complete("b", {STEPS: 4096, EVALUATION: REPORTS, SCORE: 0.1})
    handed: Any = searcher.suggest("c")
    assert handed[NUMBER] == 0
    assert handed[RAM_LIMIT] == 4 * 2**30
    assert handed[FALLBACK] == 0
    # Nor does anything begin beside it.
    assert searcher.suggest("d") is None
    searcher.on_trial_complete("c", {STEPS: 4096, EVALUATION: REPORTS, SCORE: 0.2})
    after: Any = searcher.suggest("d")
    assert after[NUMBER] == 2
    assert after[RAM_LIMIT] < 2 * 2**30
    trials = load(experiment.paths.folder).trials
    assert trials["state"].tolist() == ["complete", "complete", "running"]
    assert trials["out_of_memory"].tolist() == [1, 0, 0]


def test_a_trial_that_runs_out_of_memory_alone_violates_a_constraint_by_its_missing_bytes(experiment: Experiment) -> None:
    searcher, records = begin_two(experiment)
    searcher.on_trial_complete("b", {STEPS: 4096, EVALUATION: REPORTS, SCORE: 0.1})
    run_out(searcher, records, "a", 0)
    assert searcher.suggest("c")[NUMBER] == 0  # type: ignore[index]
    records.update(0, peak_rss_bytes=10 * 2**30)
    run_out(searcher, records, "c", 0)
    assert load(experiment.paths.folder).trials["state"].tolist() == ["oom", "complete"]
    told = StudyMemory.open(experiment, algorithm("ppo").space, {}, {"steps": 4096.0})._study.get_trials()[0]
    assert max(told.constraints.values()) == 6 * 2**30
    assert searcher.suggest("d")[NUMBER] == 2  # type: ignore[index]


def test_with_adapt_each_attempt_saves_more_memory(experiment: Experiment) -> None:
    searcher, records = begin_two(experiment, adapt=True)
    searcher.on_trial_complete("b", {STEPS: 4096, EVALUATION: REPORTS, SCORE: 0.1})
    rungs, name = [], "a"
    for step in range(1, len(FALLBACKS) + 2):
        run_out(searcher, records, name, 0)
        handed: Any = searcher.suggest(name := f"a{step}")
        if handed[NUMBER] != 0:
            break
        rungs.append((handed[FALLBACK], records.measured(0)["savings"]))
    assert rungs == [(0, None), (1, "half minibatches"), (2, "half minibatches, bfloat16")]
    assert load(experiment.paths.folder).trials["state"].tolist() == ["oom", "complete", "running"]


def test_a_process_that_ended_itself_for_memory_ran_out_and_did_not_crash(experiment: Experiment) -> None:
    control = Control()
    searcher, records = begin_two(experiment, control)
    marker = experiment.paths.memory_marker(0)
    marker.parent.mkdir(exist_ok=True)
    marker.write_text(str(3 * 2**30), encoding="utf-8")
    searcher.on_trial_complete("a", None, error=True)
    assert records.times_out_of_memory(0) == 1
    assert records.crashes(0)[0] == 0
    assert any("its process had 3.00 GiB" in line for name, *rest in control.told if name == "say" for line in rest)
    assert not marker.exists()


def test_a_trial_of_a_larger_machine_is_not_begun_on_one_where_it_cannot_fit(experiment: Experiment) -> None:
    begin_two(experiment)
    memory = StudyMemory.open(experiment, algorithm("ppo").space, {}, {"steps": 4096.0})
    small = planner(experiment.settings, experiment.paths.folder, ram_bytes=2**29)
    searcher = StudySearcher(memory, TrialRecords(experiment), experiment.paths.folder, 2, Control(), small, 1)  # type: ignore[arg-type]
    searcher.take_up(memory.adopt_unfinished())
    assert searcher.suggest("a") == "FINISHED"
    trials = load(experiment.paths.folder).trials
    assert trials["state"].tolist() == ["oom", "oom"]
    assert trials["error"].str.contains("does not fit").all()


def test_an_assignment_that_cannot_fit_is_never_begun(experiment: Experiment) -> None:
    def excess(assignment: Any) -> tuple[int, str]:
        return (5, "does not fit") if assignment["n_steps"] > 512 else (-5, "")

    memory = StudyMemory.open(experiment, algorithm("ppo").space, {}, {"steps": 65536.0}, excess=excess)
    control = Control()
    searcher = StudySearcher(
        memory, TrialRecords(experiment), experiment.paths.folder, 12, control, roomy(experiment), 1  # type: ignore[arg-type]
    )  # fmt: skip
    begun = []
    while isinstance(handed := searcher.suggest(str(len(begun))), dict):
        begun.append(handed)
    trials = load(experiment.paths.folder).trials
    refused = trials[trials["state"] == "oom"]
    assert len(trials) == 12
    assert 0 < len(begun) == 12 - len(refused)
    assert all(config[HYPERPARAMETERS]["n_steps"] <= 512 for config in begun)
    assert (refused["hp_n_steps"] > 512).all()
    assert (refused["error"] == "does not fit").all()
    assert [told for told in control.told if told[0] == "on_ended"] == [("on_ended", n, "oom", None) for n in refused["trial"]]
    told = memory._study.get_trials()
    assert [max(trial.constraints.values()) for trial in told] == [
        5.0 if n in refused["trial"].tolist() else 0.0 for n in range(12)
    ]


RUNG = 4096 // REPORTS


def thawing_searcher(of: Experiment, steps: int, trials: float = 3, freezes: bool = True, cores: int = 8) -> StudySearcher:
    """A searcher with a budget of steps; with `freezes` trials give way to one another."""
    space = algorithm("ppo").space
    memory = StudyMemory.open(of, space, {}, {"steps": 4096.0})
    drawn_from = space.distributions({}, {"steps": 4096.0})
    thawing = Thawing(memory, Costs(space), drawn_from, 4096, RUNG, 0, lambda: math.inf) if freezes else None
    searcher = StudySearcher(
        memory, TrialRecords(of), of.paths.folder, trials, Control(), planner(of.settings, of.paths.folder, cores=cores), 1,  # type: ignore[arg-type]
        ledger=Ledger(memory, Budget(steps, "steps"), RUNG), thawing=thawing,
    )  # fmt: skip
    searcher.take_up(memory.adopt_unfinished())
    return searcher


def evaluated(searcher: StudySearcher, name: str, rung: int, score: float = 0.1) -> bool:
    """Whether a trial that was evaluated keeps its slot; if not, its process ends."""
    number = searcher.number(name)
    is_new = searcher._memory.report(number, rung * RUNG, score)
    searcher._records.update(number, steps=rung * RUNG, score=score)
    kept = searcher.goes_on(number, is_new)
    if not kept:
        searcher.on_trial_complete(name, {STEPS: rung * RUNG, EVALUATION: rung, SCORE: score})
    return kept


@pytest.mark.parametrize("freezes", [True, False])
def test_what_is_frozen_as_the_budget_is_spent_goes_on_with_a_larger_one(experiment: Experiment, freezes: bool) -> None:
    searcher = thawing_searcher(experiment, RUNG, freezes=freezes)
    assert searcher.suggest("a")[NUMBER] == 0  # type: ignore[index]
    assert not evaluated(searcher, "a", 1)
    assert searcher.suggest("b") == "FINISHED"
    assert states(experiment) == ["frozen"]
    later = thawing_searcher(experiment, 2 * RUNG, trials=1, freezes=freezes)
    assert later.suggest("a")[NUMBER] == 0  # type: ignore[index]
    assert states(experiment) == ["running"]


def test_a_trial_that_does_what_another_one_does_gives_way_and_is_told(experiment: Experiment) -> None:
    searcher = thawing_searcher(experiment, 100 * RUNG, trials=2)
    for name in "ab":
        searcher.suggest(name)
    assert all(evaluated(searcher, name, 1) for name in "ab")
    assert not evaluated(searcher, "b", 2)
    noticed = "policy does the same as trial 0 in every hour of all of its evaluations"
    assert searcher._records.measured(1)["noticed"] == noticed
    assert ("say", f"trial 1: {noticed}; it does not go on") in searcher._control.told  # type: ignore[attr-defined]
    assert searcher.suggest("c") is None
    assert evaluated(searcher, "a", 2)
    assert not searcher._records.measured(0).get("noticed")


@pytest.mark.parametrize("freezes", [True, False])
def test_beside_a_trial_that_waits_to_run_alone_others_are_frozen_only_if_they_go_on_later(
    experiment: Experiment, freezes: bool
) -> None:
    searcher = thawing_searcher(experiment, 100 * RUNG, trials=2, freezes=freezes)
    assert [searcher.suggest(name)[NUMBER] for name in "ab"] == [0, 1]  # type: ignore[index]
    run_out(searcher, searcher._records, "a", 0)
    assert evaluated(searcher, "b", 1) is not freezes
    if not freezes:
        return
    assert searcher.suggest("c")[NUMBER] == 0  # type: ignore[index]
    assert searcher.suggest("d") is None
    searcher.on_trial_complete("c", {STEPS: 4096, EVALUATION: REPORTS, SCORE: 0.2})
    assert searcher.suggest("e")[NUMBER] == 1  # type: ignore[index]


def test_a_thawed_trial_is_evaluated_anew_before_it_gives_way(experiment: Experiment, monkeypatch: pytest.MonkeyPatch) -> None:
    searcher = thawing_searcher(experiment, 100 * RUNG, trials=2)
    for name in "ab":
        searcher.suggest(name)
    # Nothing begins beside trial 0 any more, and as soon as either trial has a slot the other one is preferred.
    run_out(searcher, searcher._records, "a", 0)
    assert not evaluated(searcher, "b", 1)
    preferred = {0: 1, 1: 0, None: 1}
    monkeypatch.setattr(Thawing, "choose", lambda self, drawn, steps_left, as_frozen=None: preferred[as_frozen])
    assert searcher.suggest("c")[NUMBER] == 0  # type: ignore[index]
    assert not evaluated(searcher, "c", 1)
    assert searcher.suggest("d")[NUMBER] == 1  # type: ignore[index]
    preferred[None] = 0
    # It waits until it can run alone.
    assert searcher.suggest("e") is None
    assert evaluated(searcher, "d", 1)
    assert not evaluated(searcher, "d", 2)
    assert searcher.suggest("e")[NUMBER] == 0  # type: ignore[index]
    assert evaluated(searcher, "e", 1)
    assert not evaluated(searcher, "e", 2)


def test_a_frozen_trial_of_a_larger_machine_ends_where_it_cannot_fit(experiment: Experiment) -> None:
    searcher = thawing_searcher(experiment, RUNG)
    searcher.suggest("a")
    assert not evaluated(searcher, "a", 1)
    later = thawing_searcher(experiment, 3 * RUNG, trials=1)
    later._placement = Placement(planner(experiment.settings, experiment.paths.folder, ram_bytes=2**29))
    assert later.suggest("a") == "FINISHED"
    assert states(experiment) == ["oom"]


def test_a_space_in_which_nothing_fits_ends_the_search(experiment: Experiment) -> None:
    memory = StudyMemory.open(
        experiment, algorithm("ppo").space, {}, {"steps": 4096.0}, excess=lambda assignment: (5, "does not fit")
    )
    searcher = StudySearcher(
        memory, TrialRecords(experiment), experiment.paths.folder, math.inf, Control(), roomy(experiment), 1  # type: ignore[arg-type]
    )  # fmt: skip
    assert searcher.suggest("a") == "FINISHED"
    assert memory.count == MOST_IN_VAIN
    assert searcher.suggest("a") == "FINISHED"
    told = [text for kind, text, *_ in searcher._control.told if kind == "say" and "no new trial begins" in text]  # type: ignore[attr-defined]
    assert len(told) == 1


def test_a_training_that_confirms_is_no_new_trial_to_try(experiment: Experiment) -> None:
    memory = StudyMemory.open(
        experiment, algorithm("ppo").space, {}, {"steps": 4096.0}, excess=lambda assignment: (5, "does not fit")
    )
    for _ in range(3):
        memory.ask()
    drawn = memory.draw()
    drawn.state, drawn.datetime_complete = TrialState.RUNNING, None
    attributes = {name: value for name, value in drawn.user_attrs.items() if name == "hyperparameters"}
    drawn.user_attrs = {**attributes, CONFIRMS: 0}
    memory.add(drawn)
    assert memory.in_vain == 3


def test_on_a_larger_machine_trials_begin_again(experiment: Experiment) -> None:
    lacking = [5]
    memory = StudyMemory.open(
        experiment, algorithm("ppo").space, {}, {"steps": 4096.0}, excess=lambda assignment: (lacking[0], "does not fit")
    )
    searcher = StudySearcher(
        memory, TrialRecords(experiment), experiment.paths.folder, math.inf, Control(), roomy(experiment), 1  # type: ignore[arg-type]
    )  # fmt: skip
    assert searcher.suggest("a") == "FINISHED"
    lacking[0] = -5
    assert searcher.suggest("a")[NUMBER] == MOST_IN_VAIN  # type: ignore[index]


def test_trials_that_fail_at_once_use_the_budget_up(experiment: Experiment) -> None:
    searcher = thawing_searcher(experiment, 3 * RUNG, trials=math.inf)
    begun = 0
    while isinstance(searcher.suggest(str(begun)), dict):
        searcher._records.count_crash(begun, "Traceback\nValueError: bad")
        searcher._retries = 0
        searcher.on_trial_complete(str(begun), None, error=True)
        begun += 1
    assert begun == 3


def test_no_more_are_handed_out_at_once_than_the_cluster_holds_now(experiment: Experiment) -> None:
    searcher, _ = adapters(experiment)
    most = [1]
    searcher._at_once = lambda: most[0]
    assert searcher.suggest("a")[NUMBER] == 0  # type: ignore[index]
    assert searcher.suggest("b") is None
    most[0] = 2
    assert searcher.suggest("c")[NUMBER] == 1  # type: ignore[index]


def test_a_trial_that_leaves_its_node_goes_on_from_its_checkpoint(experiment: Experiment) -> None:
    control = Control()
    searcher, _ = adapters(experiment, control)
    searcher.suggest("a")
    for _ in range(2):
        searcher.leave(0)
    (experiment.paths.checkpoints(0) / f"{2048:012d}").mkdir(parents=True)
    searcher.on_trial_complete("a", {STEPS: 2048, OUTCOME: STOPPED})
    assert searcher.suggest("b")[NUMBER] == 0  # type: ignore[index]
    assert control.names() == ["leave", "has_left", "on_left"]
    assert ("say", "trial 0: its node goes; it continues from 2,048 steps") in control.told
    # Told once: it may run on now.
    searcher.on_trial_complete("b", {STEPS: 4096, EVALUATION: REPORTS, SCORE: 0.1})
    assert states(experiment) == ["complete"]


def test_a_trial_that_ended_before_it_left_has_ended(experiment: Experiment) -> None:
    control = Control()
    searcher, _ = adapters(experiment, control)
    searcher.suggest("a")
    searcher.leave(0)
    searcher.on_trial_complete("a", {STEPS: 4096, EVALUATION: REPORTS, SCORE: 0.1})
    assert states(experiment) == ["complete"]
    assert control.names()[:2] == ["leave", "has_left"]


@pytest.mark.parametrize("is_stopping", [False, True])
def test_a_trial_that_is_taken_back_before_it_began_is_handed_out_again(experiment: Experiment, is_stopping: bool) -> None:
    control = Control()
    searcher, scheduler = adapters(experiment, control)
    handed = {name: searcher.suggest(name) for name in "ab"}
    assert [config[NUMBER] for config in handed.values()] == [0, 1]  # type: ignore[index]
    control.is_stopping = is_stopping
    status = {"a": "RUNNING", "b": "PENDING"}
    trials = [SimpleNamespace(trial_id=name, config=handed[name], status=status[name]) for name in "ab"]
    # Its number ran before on a node that was lost; Tune lists that too.
    lost = SimpleNamespace(trial_id="lost", config=handed["b"], status="ERROR")
    stopped: list[str] = []

    def stop_trial(trial: Any) -> None:
        stopped.append(trial.trial_id)
        searcher.on_trial_complete(trial.trial_id)

    for number in (0, 1):
        searcher.withdraw(number)
    tune: Any = SimpleNamespace(
        get_live_trials=lambda: [lost, *trials], get_trials=lambda: [], stop_trial=stop_trial, _staged_trials=list(trials)
    )
    tune._unstage_trial_with_resources = tune._staged_trials.remove
    scheduler.choose_trial_to_run(tune)
    scheduler.choose_trial_to_run(tune)
    # The one that has begun meanwhile runs on.
    assert stopped == ["b"]
    assert tune._staged_trials == trials[:1]
    assert searcher.handed_out == {0}
    assert states(experiment) == ["running", "running"]
    again = searcher.suggest("c")
    assert again is None if is_stopping else again[NUMBER] == 1  # type: ignore[index]
