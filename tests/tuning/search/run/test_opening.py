"""Everything is checked before an experiment is created, and one that is continued stays what it was."""

import shutil
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from common.errors import ScenarioError, UsageError, UserError
from common.storage.objects import Objects
from common.texts import option, quoted
from tests.envs.changed_rows import two_buildings
from tests.envs.scenarios import strangers
from tests.tuning.search.fakes import asked_study
from tests.tuning.storage.stand_in import KilledError
from tuning.experiment.folder import Experiment, open_experiment, save
from tuning.experiment.lock import move_of, note_move
from tuning.experiment.settings import Settings
from tuning.search.proposals.drawing import Drawing, Draws
from tuning.search.proposals.learning import read_learned
from tuning.search.record.journal import DamagedStudyError
from tuning.search.record.study import StudyMemory
from tuning.search.run import opening
from tuning.search.run.opening import Opened, check, check_continued, check_new, experiment_to_continue, open_checked
from tuning.search.tune import search_opened
from tuning.storage import lease
from tuning.storage.stored_experiment import run_files


def settings(folder: Path, **others: Any) -> Settings:
    return replace(Settings(name="one", dir=str(folder), scenario="iquitos-38", steps=4096), **others)


def begun(folder: Path, **others: Any) -> Experiment:
    return open_checked(check_new(settings(folder, **others))).experiment


def test_what_is_checked_has_its_open_choices_made_and_creates_nothing(tmp_path: Path) -> None:
    checked = check(settings(tmp_path))
    assert (checked.settings.backend, checked.settings.trials) == ("batch", 0)
    assert checked.before is None
    assert set(checked.compatibility) == {"scenario", "space", "ranges", "machine"}
    assert list(tmp_path.iterdir()) == []
    opened = open_checked(checked)
    assert opened.made
    assert open_experiment(tmp_path / "one").settings == checked.settings


def test_splits_that_a_policy_cannot_run_on_create_nothing(small_schema: Path, tmp_path: Path) -> None:
    path = two_buildings(small_schema, tmp_path / "site")
    stated = settings(
        tmp_path / "runs", scenario=str(path), train=("0-9",), validation=("20-24",), test=("30-39",), train_buildings=("mall",)
    )
    checked = check(stated)
    assert checked.compatibility["scenario"] == checked.settings.task.site.key
    assert checked.settings.task.site.described("test") == "test (days 30-39 of mall)"
    with pytest.raises(ScenarioError, match="--test-buildings: "):
        check(replace(stated, test_buildings=("office",)))
    with pytest.raises(ScenarioError, match="--test is missing"):
        check(replace(stated, test=()))
    assert not (tmp_path / "runs").exists()


def test_a_search_is_refused_where_its_winner_could_not_be_judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def lacking(site: Any, split: str) -> None:
        if split == "test":
            raise ScenarioError("no stay lies within a window of test")

    monkeypatch.setattr("tuning.search.run.opening.check_stays", lacking)
    with pytest.raises(ScenarioError, match="of test"):
        check(settings(tmp_path))


def test_a_policy_is_shared_only_where_there_are_several_buildings(small_schema: Path, tmp_path: Path) -> None:
    searched = tmp_path / "searched.toml"
    searched.write_text("[shared_policy]\nchoices = [true, false]\n", encoding="utf-8")
    alone = settings(tmp_path / "runs", scenario=str(small_schema))
    several = replace(alone, scenario=str(two_buildings(small_schema, tmp_path / "site")))
    shared: tuple[tuple[str, dict[str, Any]], ...] = (
        ("shared_policy=true: ", {"set": (("shared_policy=true",),)}),
        ("shared_policy=true: ", {"set": (("shared_policy=true",),), "preset": "default"}),
        ("shared_policy=true: ", {"space": str(searched)}),
        ("shared_policy=true: ", {"start_from": ("several-buildings",)}),
        ("--preset several-buildings: ", {"preset": "several-buildings"}),
        ("--preset planned: ", {"preset": "planned"}),
    )
    for place, given in shared:
        with pytest.raises(UsageError, match=f"^{place}.* has one building"):
            check(replace(alone, **given))
    for _, given in (shared[0], shared[-1]):
        check(replace(several, **given))
    for given in ({}, {"set": (("shared_policy=false",),)}, {"preset": "planned", "set": (("shared_policy=false",),)}):
        check(replace(alone, **given))
    assert not (tmp_path / "runs").exists()


def test_trust_is_given_to_each_run_and_stored_nowhere(small_schema: Path, tmp_path: Path) -> None:
    path = strangers.write(small_schema, tmp_path, strangers.NOT_NEEDED["a reward"])
    given = settings(tmp_path, scenario=str(path), backend="citylearn", reward="schema")
    with pytest.raises(ScenarioError, match="--trust-scenario"):
        check(given)
    with pytest.raises(ScenarioError, match="no module"):
        check(replace(given, trust_scenario=True))
    trusted = replace(given, reward="improvement", trust_scenario=True)
    opened = open_checked(check(trusted))
    assert opened.experiment.settings.trust_scenario
    assert not open_experiment(opened.experiment.paths.folder).settings.trust_scenario
    assert check(trusted).settings.task.site.trusted
    assert not check(replace(trusted, trust_scenario=False)).settings.task.site.trusted


def test_a_backend_that_was_not_chosen_freely_is_worth_a_note(
    small_schema: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = settings(tmp_path, scenario=str(small_schema))
    monkeypatch.setattr("tuning.search.run.opening.choose_backend", lambda *_: "citylearn")
    monkeypatch.setattr("tuning.search.run.opening.beyond_batch", lambda *_: ["heat pumps"])
    assert any("heat pumps" in note for note in check(given).notes)
    assert not any("heat pumps" in note for note in check(replace(given, backend="citylearn")).notes)


@pytest.mark.parametrize(
    ("change", "weeks", "evaluations", "is_told"),
    [
        # A fifth of 400 trained and 100 evaluated steps: 4 of 8 days.
        ({"steps": 400, "evaluations": 1}, 4, 1, True),
        ({"steps": 200, "evaluations": 4}, 1, 4, True),
        # Of 200 trained and 50 evaluated steps, 48 are two days.
        ({"steps": 200}, 1, 2, True),
        ({"steps": 20}, 1, 1, True),
        ({"steps": 10**6}, 52, 10, False),
        ({"steps": 200, "validation_weeks": 0}, 0, 10, False),
        ({"steps": 200, "backend": "batch"}, 52, 10, False),
    ],
)
def test_where_citylearn_steps_evaluations_take_a_fifth_of_a_trial_unless_asked_otherwise(
    small_schema: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    change: dict[str, Any],
    weeks: int,
    evaluations: int,
    is_told: bool,
) -> None:
    monkeypatch.setattr(opening, "steps_per_second", lambda _: 1.0)
    given = {"backend": "citylearn", "evaluations": Settings.evaluations} | change
    checked = check(settings(tmp_path, scenario=str(small_schema), **given))
    assert (checked.settings.validation_weeks, checked.settings.evaluations) == (weeks, evaluations)
    is_less = evaluations < given["evaluations"]
    assert any(f"evaluations ({evaluations} in a trial) run" in note for note in checked.notes) == is_less
    assert any("--validation-weeks 0 runs all" in note for note in checked.notes) == is_told
    assert any("steps a second here" in note for note in checked.notes) == ("backend" not in change)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        # Four trials of 400 steps and 4 of 8 days, and the other days of three.
        ({}, "takes about 0:08:16, and the search 0:37:52 where"),
        ({"trials": 1, "validation_weeks": 8}, "takes about 0:09:52, and the search 0:09:52 where"),
        ({"budget": "2h"}, "takes about 0:08:16"),
    ],
)
def test_where_citylearn_steps_it_is_told_before_how_long_a_search_takes(
    small_schema: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: dict[str, Any], told: str
) -> None:
    monkeypatch.setattr(opening, "steps_per_second", lambda _: 1.0)
    given = {"backend": "citylearn", "steps": 400, "evaluations": 1} | change
    notes = check(settings(tmp_path, scenario=str(small_schema), **given)).notes
    (line,) = (note for note in notes if "steps a second here" in note)
    assert told in line
    assert ("the search" in line) == ("the search" in told)


def test_a_card_that_has_to_be_there_is_missed_before_anything_is_prepared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "cards", tuple)
    with pytest.raises(UsageError, match="there is no card here; leave it out"):
        check(settings(tmp_path, device="gpu"))
    monkeypatch.setattr(opening, "cards", lambda: ("a card",))
    assert check(settings(tmp_path, device="gpu")).settings.device == "gpu"


def test_memory_that_only_a_card_reads_is_refused_without_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    searched = tmp_path / "searched.toml"
    searched.write_text("[pin_memory]\nchoices = [true, false]\n", encoding="utf-8")
    given: tuple[dict[str, Any], ...] = (
        {"set": (("pin_memory=true",),)},
        {"start_from": ("default", "pin_memory=true")},
        {"space": str(searched)},
    )
    for one in given:
        monkeypatch.setattr(opening, "cards", lambda: ("a card",))
        check(settings(tmp_path / "runs", **one))
        with pytest.raises(UsageError, match=r"^pin_memory=true: it needs a card, and here trials learn on the CPU"):
            check(settings(tmp_path / "runs", device="cpu", **one))
        monkeypatch.setattr(opening, "cards", tuple)
        with pytest.raises(UsageError, match=r"^pin_memory=true: it needs a card"):
            check(settings(tmp_path / "runs", **one))
    check(settings(tmp_path / "runs", space=str(searched), set=(("pin_memory=false",),)))
    assert not (tmp_path / "runs").exists()


def test_an_experiment_is_found_by_its_name_or_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert experiment_to_continue(settings(tmp_path)) is None
    assert experiment_to_continue(Settings()) is None
    experiment = begun(tmp_path)
    assert experiment_to_continue(settings(tmp_path)) == experiment
    assert experiment_to_continue(Settings(resume=str(tmp_path / "one"))) == experiment
    assert experiment_to_continue(Settings(resume="one", dir=str(tmp_path))) == experiment
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    assert experiment_to_continue(Settings(resume="~/one")) == experiment
    with pytest.raises(UsageError, match="no experiment in"):
        experiment_to_continue(Settings(resume=str(tmp_path)))
    # Only one that is named and not pointed at is said to be there.
    assert "is continued" in check(settings(tmp_path)).notes[-1]
    pointed_at = check(replace(experiment.settings, resume=str(experiment.paths.folder)))
    assert not any("is continued" in note for note in pointed_at.notes)


def test_to_continue_creates_nothing_and_leaves_the_old_settings_until_the_search_begins(tmp_path: Path) -> None:
    experiment = begun(tmp_path)
    opened = open_checked(check(settings(tmp_path, trials=9)))
    assert not opened.made
    assert opened.experiment.settings == replace(experiment.settings, trials=9)
    assert open_experiment(tmp_path / "one").settings == experiment.settings


@pytest.fixture
def uri(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Of a storage, with a cache of its own in which the site is already: to make it takes seconds."""
    check(settings(tmp_path))
    for made in cache.glob("iquitos-38-*"):
        shutil.copytree(made, tmp_path / "cache" / made.name, ignore=shutil.ignore_patterns(".*"))  # what another test makes
    monkeypatch.setenv("BUILDING_TUNER_CACHE", str(tmp_path / "cache"))
    return f"file://{tmp_path}/storage"


def test_an_experiment_moves_once_all_is_checked_and_stays_what_it_is(tmp_path: Path, uri: str) -> None:
    before = begun(tmp_path)
    folder = before.paths.folder
    given = replace(before.settings, resume=str(folder), storage=uri, trials=9)
    with pytest.raises(UsageError, match="--seed was 0, now 3"):
        check(replace(given, seed=3))
    before.paths.study.write_text("damaged\n")
    with pytest.raises(DamagedStudyError):
        open_checked(check(given))
    before.paths.study.unlink()
    with pytest.raises(UsageError, match=rf"in a folder alone: .*, add --resume {folder} to move it to {uri}/one, or"):
        check(replace(given, resume="", dir=str(tmp_path)))
    checked, late = check(given), check(replace(given, storage=""))
    assert not before.paths.moved.exists()
    said: list[str] = []
    there = open_checked(checked, said.append).experiment
    assert [line.partition(" to ")[0] for line in said] == ["moving", f"{folder} has moved"]
    assert there.place == f"{uri}/one"
    assert there.settings == replace(before.settings, dir=uri, trials=9)
    assert there.compatibility["space"] == before.compatibility["space"]
    with pytest.raises(UsageError, match=f"has moved to {uri}/one"):
        check(replace(given, storage=""))
    # So is a command that had looked before.
    with pytest.raises(UsageError, match=f"has moved to {uri}/one"):
        search_opened(open_checked(late), Console(quiet=True))
    # Once it is there, its name is enough.
    for again in (given, replace(given, resume="", dir=str(tmp_path)), replace(given, resume=f"{uri}/one", storage="")):
        assert open_checked(check(again)).experiment.place == f"{uri}/one"


def test_a_move_that_was_killed_at_its_last_step_keeps_what_was_set_in_the_storage_since(tmp_path: Path, uri: str) -> None:
    before = begun(tmp_path)
    given = replace(before.settings, resume=str(before.paths.folder), storage=uri)
    open_checked(check(given))
    noted = move_of(before.paths)
    assert noted
    note_move(before.paths, replace(noted, is_over=False))
    there = open_checked(check(replace(before.settings, resume=f"{uri}/one", trials=50))).experiment
    with run_files(there, print) as (held, _):
        save(held)
    # As from a command line that gives neither.
    again = check(given, lambda old, part: old)
    assert move_of(before.paths) == replace(noted, is_over=False), "a check writes nothing"
    there = open_checked(again).experiment
    assert (there.place, there.settings.trials) == (f"{uri}/one", 50)
    assert there.settings == held.settings
    assert move_of(before.paths) == noted


def test_the_same_command_continues_on_another_machine_what_is_in_a_storage(tmp_path: Path, uri: str) -> None:
    begun(tmp_path / "here", storage=uri)
    given = settings(tmp_path / "there", storage=uri)
    checked = check(given)
    assert checked.notes[-1] == f"{uri}/one exists and is continued"
    assert not (tmp_path / "there").exists()
    opened = open_checked(checked)
    assert (opened.experiment.place, opened.made) == (tmp_path / "there" / "one", ())
    with run_files(opened.experiment, print) as (held, _):
        assert held.paths.folder == tmp_path / "there" / "one"
        assert open_experiment(held.paths.folder).settings == opened.experiment.settings
    # Then it is there, as on the first machine.
    assert open_checked(check(given)).experiment.place == tmp_path / "there" / "one"
    with pytest.raises(UsageError, match="--seed was 0, now 3"):
        check(replace(given, dir=str(tmp_path / "third"), seed=3))
    # A folder that holds something else is not filled.
    (tmp_path / "third" / "one").mkdir(parents=True)
    (tmp_path / "third" / "one" / "notes.txt").touch()
    with pytest.raises(UsageError, match="is an experiment already: continue it with --resume"):
        open_checked(check(replace(given, dir=str(tmp_path / "third"))))


def test_a_first_fetch_that_is_killed_anywhere_is_made_good_by_the_same_command(
    tmp_path: Path, uri: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lease, "WATCH_SECONDS", 0.0)
    monkeypatch.setattr(lease, "SETTLE_SECONDS", 0.0)
    space = tmp_path / "space.toml"
    space.write_text("[gamma]\nlow = 0.95\nhigh = 0.99\n")
    begun(tmp_path / "here", storage=uri, space=str(space))
    given, folder = settings(tmp_path / "there", storage=uri, space=str(space)), tmp_path / "there" / "one"
    fetch = Objects.fetch
    states: list[list[str]] = []

    def killed(objects: Objects, key: str, path: Path) -> None:
        if path.is_relative_to(folder) and key == ("space.toml", "experiment.json")[len(states)]:
            raise KilledError
        fetch(objects, key, path)

    for _ in range(2):
        experiment = open_checked(check(given)).experiment
        with monkeypatch.context() as patched:
            patched.setattr(Objects, "fetch", killed)
            with pytest.raises(KilledError), run_files(experiment, print):
                raise AssertionError("all was fetched")
        states.append(sorted(path.name for path in folder.iterdir() if not path.name.startswith(".storage")))
    assert states == [[], ["space.toml"]]
    # What was being fetched may be there, and not noted.
    (folder / "results").mkdir()
    with run_files(open_checked(check(given)).experiment, print) as (held, _):
        assert (held.paths.folder, held.paths.space.read_text()) == (folder, space.read_text())
        assert open_experiment(folder).settings == held.settings


def test_an_experiment_at_a_uri_alone_gets_no_folder_that_would_go_on_without_it(tmp_path: Path, uri: str) -> None:
    open_checked(check_new(replace(settings(tmp_path), dir=uri)))
    with pytest.raises(UsageError, match="is an experiment already: continue it with --resume"):
        open_checked(check(settings(tmp_path / "there", storage=uri)))
    assert not (tmp_path / "there" / "one").exists()


def test_settings_of_before_reach_the_one_who_says_what_holds_now(tmp_path: Path) -> None:
    before = begun(tmp_path, seed=7)

    def as_continued(old: Settings, part: Settings) -> Settings:
        assert part.seed == 0
        return replace(old, trials=6)

    assert check(settings(tmp_path), as_continued).settings == replace(before.settings, trials=6)


@pytest.mark.parametrize(
    ("others", "message"),
    [
        ({"seed": 3}, "--seed was 0, now 3"),
        ({"algo": "all"}, "is continued without --algo all"),
        ({"weights": ("co2=1",)}, "--weights was not given, now co2=1.0"),
        ({"require": ("ev_served>=.9",)}, "--require was not given, now ev_served>=0.9"),
        ({"name": "two"}, r"^--name two: --resume goes on with .*one, which keeps its name; leave --name out"),
    ],
)
def test_what_would_be_another_experiment_is_refused(tmp_path: Path, others: dict[str, Any], message: str) -> None:
    before = begun(tmp_path)
    given = replace(before.settings, resume=str(before.paths.folder))
    assert check(given).before is not None
    with pytest.raises(UsageError, match=message):
        check(replace(given, **others))


def test_an_aim_is_continued_however_it_is_typed(tmp_path: Path) -> None:
    aimed = settings(tmp_path, weights=("ramping=.5", "co2=0.5"), objective="bill", require=("ev_served>=0.90",))
    before = open_checked(check(aimed)).experiment
    assert before.settings.weights == ("co2=0.5", "grid=0.5")
    again = replace(aimed, weights=("co2=5e-1", "grid=0.5"), require=("ev_served >= 0.9",))
    assert check_continued(before, again).settings == before.settings
    (aim, plan, there) = check(again).notes
    assert plan.startswith("searched too, ")
    assert aim == "aim: weights: co2 0.5, ramping 0.5; objective: bill (less is better); requirements: ev_served >= 0.9"
    assert "is continued" in there


def test_a_space_that_is_not_given_again_is_the_copy_in_the_folder_and_one_that_changed_is_refused(
    tmp_path: Path,
) -> None:
    space = tmp_path / "space.toml"
    space.write_text('hidden_sizes = {choices = ["32,32", "64,64"]}', encoding="utf-8")
    before = begun(tmp_path, space=str(space))
    space.write_text('hidden_sizes = {choices = ["32,32", "64,64", "128,128"]}', encoding="utf-8")
    assert check_continued(before, replace(before.settings, space="")).settings == before.settings
    said = r"hidden_sizes has changed \('32,32', '64,64'; now '32,32', '64,64', '128,128'\); .* --learn-from .*"
    with pytest.raises(UsageError, match=said):
        check_continued(before, before.settings)


@pytest.mark.parametrize(("changed", "learns"), [({"seed": 5}, True), ({"algo": "a2c"}, False)])
def test_the_way_on_is_one_that_works(tmp_path: Path, changed: dict[str, Any], learns: bool) -> None:
    before = begun(tmp_path / "with a space")
    with pytest.raises(UsageError, match="start a new experiment") as refused:
        check_continued(before, replace(before.settings, **changed))
    assert (quoted(["--learn-from", before.place]) in str(refused.value)) == learns
    assert ("--learn-from" in str(refused.value)) == learns


def test_another_site_and_other_data_or_another_space_under_the_same_name_are_refused(
    small_schema: Path, tmp_path: Path
) -> None:
    before = begun(tmp_path)
    with pytest.raises(UsageError, match=r"--scenario was iquitos-38, now .*schema"):
        check(settings(tmp_path, scenario=str(small_schema)))
    save(replace(before, compatibility={**before.compatibility, "scenario": "other data"}))
    with pytest.raises(UsageError, match="the scenario's data have changed"):
        check(settings(tmp_path))
    other = {key: text for key, text in before.compatibility["space"].items() if key != "shared_policy"}
    save(replace(before, compatibility={**before.compatibility, "space": other}))
    with pytest.raises(UsageError, match=r"the space of shared_policy has changed .absent; now "):
        check(settings(tmp_path))


def test_a_time_in_which_nothing_can_be_evaluated_is_refused_with_the_least_that_can(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"^--budget 20s: .* after 2,048 steps; give at least --budget 1m"):
        check(settings(tmp_path, budget="20s", steps=4096, evaluations=2))
    check(settings(tmp_path, budget="1m"))


def test_trials_of_an_experiment_get_no_shorter(tmp_path: Path) -> None:
    save(open_checked(check(settings(tmp_path))).experiment)
    at = str(tmp_path / "one")
    with pytest.raises(UsageError, match=r"^--steps 4000: trials of .*one take 4,096, and can only take more"):
        check(settings(tmp_path, resume=at, steps=4000))
    assert check(settings(tmp_path, resume=at, steps=5000)).settings.steps == 5000


def test_another_task_is_named_before_what_does_not_fit_to_it(tmp_path: Path) -> None:
    given = in_environment(tmp_path, env="CartPole-v1")
    opened = open_checked(check(given)).experiment
    save(opened)
    for others, told in (
        ({"minimize": True}, "--minimize was False, now True"),
        ({"algo": "sac"}, "--algo was ppo, now sac"),
        ({"env": "no.such.module:make"}, "--env was CartPole-v1, now no.such.module:make"),
    ):
        with pytest.raises(UsageError, match=f"was begun with other settings: {told}; start a new experiment"):
            check(replace(opened.settings, resume=str(tmp_path / "one"), **others))


@pytest.mark.parametrize("name", ["extend", "retry_failed"])
def test_an_experiment_whose_trials_are_to_go_on_has_to_be_there(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match=f"{option(name)} continues an experiment"):
        check(settings(tmp_path, **{name: True}))


def test_a_plan_beside_the_reward_of_the_schema_creates_nothing(small_schema: Path, tmp_path: Path) -> None:
    given = settings(tmp_path / "runs", scenario=str(small_schema), set=(("plan=yesterday",),))
    check(given)
    with pytest.raises(UsageError, match=r"^plan=yesterday: plans .* not for --reward schema; leave one out$"):
        check(replace(given, reward="schema"))
    check(replace(given, reward="schema", set=()))
    assert not (tmp_path / "runs").exists()


def test_what_was_learned_is_in_the_experiment_and_the_other_folder_is_needed_no_more(tmp_path: Path) -> None:
    other = begun(tmp_path / "before", name="old")
    memory = asked_study(other)
    for rating in (0.1, 0.3, 0.2):
        number = memory.ask().number
        memory.report(number, 4096, rating)
        memory.complete(number, rating)
    given = settings(tmp_path, learn_from=(str(other.paths.folder),))
    checked = check(given)
    assert f"learns from {other.paths.folder}: 3 of 3 trials" in checked.notes
    assert not (tmp_path / "one").exists()
    opened = open_checked(checked)
    drawn = [drawn_by(opened) for _ in range(2)]
    shutil.rmtree(other.paths.folder)
    again = open_checked(check(given))  # the same command continues it
    assert any("learns from" in note for note in check(given).notes)
    assert again.experiment.compatibility["learned"] == opened.experiment.compatibility["learned"]
    assert [drawn_by(again) for _ in range(2)] == drawn
    save(again.experiment)
    assert check(Settings(**{**asdict(given), "resume": str(tmp_path / "one")})).settings.learn_from == given.learn_from
    with pytest.raises(UsageError, match="begun with other settings: --learn-from was "):
        check(replace(given, learn_from=()))
    opened.experiment.paths.learned.unlink()
    with pytest.raises(UsageError, match=r"learned\.json cannot be read"):
        check(given)


def drawn_by(opened: Opened) -> dict[str, Any]:
    """Parameters that an experiment draws next."""
    experiment, plan = opened.experiment, opened.plan
    learned = read_learned(experiment, plan.space)
    drawing = Drawing(experiment.settings, plan.space, {}, {"steps": 4096.0}, learned=learned)
    return Draws(StudyMemory.open(experiment), drawing).draw().params


def test_what_cannot_be_learned_from_creates_nothing(tmp_path: Path) -> None:
    begun(tmp_path / "before", name="old")
    for others, message in (
        ({}, "ranks need at least 2 trials"),
        ({"sampler": "random"}, "--sampler random draws from the whole space alone"),
        ({"preset": "default"}, "--preset runs one assignment"),
    ):
        with pytest.raises(UsageError, match=message):
            check(settings(tmp_path / "runs", learn_from=(str(tmp_path / "before" / "old"),), **others))
    assert not (tmp_path / "runs").exists()


def in_environment(folder: Path, **others: Any) -> Settings:
    return replace(Settings(name="one", dir=str(folder), env="examples.pump:make", steps=100_000), **others)


def test_an_environment_is_looked_at_and_its_open_choices_are_made(tmp_path: Path) -> None:
    config = tmp_path / "pump.toml"
    config.write_text("volume = 300.0\n", encoding="utf-8")
    checked = check(in_environment(tmp_path, env_config=str(config)))
    now = checked.settings
    # A fifth of 10,000 steps and what evaluates them, in episodes of 168 steps.
    assert (now.num_envs, now.episodes, now.env_config) == (8, 14, '{"volume": 300.0}')
    assert checked.compatibility["scenario"] == 'examples.pump:make {"volume": 300.0}'
    assert any("rated by the same 14 episodes" in note for note in checked.notes)
    assert not {"plan", "learn_charging"} & checked.compatibility["space"].keys()
    asked = check(in_environment(tmp_path, episodes=3, num_envs=5)).settings
    assert (asked.num_envs, asked.episodes) == (5, 3)


@pytest.mark.parametrize(
    ("others", "message"),
    [
        ({"env": "CartPole-v1", "algo": "sac"}, "sac does not learn actions that are choices in environments; take ppo or a2c"),
        ({"env": "no.such.module:make"}, "No module named"),
        ({"scenario": "iquitos-38"}, "--scenario iquitos-38: it is an option of a site; with --env, leave it out"),
        ({"reward": "schema"}, "--reward schema: it is an option of a site"),
        ({"episodes": 1}, "at least 2"),
        ({"minimize": True}, "name what to minimise"),
        ({"objective": "bill"}, "info:KEY"),
        ({"objective": "info:a info:b"}, "one objective"),
        ({"set": (("plan=learned",),)}, "no hyperparameter plan"),
        ({"preset": "planned"}, "no preset planned"),
        ({"env": "", "episodes": 3}, "--episodes 3: it is an option of an environment; name one with --env"),
    ],
)
def test_what_does_not_go_with_an_environment_creates_nothing(tmp_path: Path, others: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        check(in_environment(tmp_path, **others))
    assert list(tmp_path.iterdir()) == []


def test_code_is_trusted_by_who_names_it_and_never_by_a_folder(tmp_path: Path) -> None:
    """A folder of somebody else names a module."""
    begun = open_checked(check(in_environment(tmp_path))).experiment
    assert "trust_scenario" not in begun.settings.to_json()
    assert check(in_environment(tmp_path)).settings.trust_scenario, "the same command names it again"
    assert not check(in_environment(tmp_path, name="id", env="Pendulum-v1", objective="score")).settings.trust_scenario
    folder = str(begun.paths.folder)
    for given in (Settings(resume=folder), Settings(name="one", dir=str(tmp_path))):
        with pytest.raises(UsageError, match="--trust-scenario"):
            check(given, lambda before, now: replace(before, resume=now.resume))
    trusted = Settings(resume=folder, trust_scenario=True)
    assert check(trusted, lambda before, now: replace(before, resume=now.resume)).before
