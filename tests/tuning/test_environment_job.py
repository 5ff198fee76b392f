"""The main job in an environment, whole: a search, its summary and report, a judgement, and the policy as files."""

from pathlib import Path

import pytest

from results import load
from results.live import LiveSearch
from tests.tuning.test_main_job import ran
from tuning.experiment.folder import open_experiment
from tuning.judge import main as judge
from tuning.run import main
from tuning.search.record.journal import DamagedStudyError
from tuning.search.record.record import check_study
from tuning.trial.records import TrialRecords
from tuning.trial.second_look import look_again

FIXED = ("hidden_sizes=16", "n_steps=256", "batch_size=64", "n_epochs=4")
RULE = "def act(observation):\n    return [1.0 if observation[0] < 0.5 else 0.0]\n"


@pytest.fixture(scope="module")
def job(small_ray: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("job")
    said = ran(
        ["--algo", "ppo", "--env", "examples.pump:make", "--objective", "info:bill", "--minimize", "--dir", str(folder),
         "--name", "job", "--steps", "1536", "--trials", "2", "--evaluations", "2", "--episodes", "3", "--set", *FIXED]
    )  # fmt: skip
    for text in ("Best of 2 trials", "Validation, 15 episodes", "no action", "random actions", "rated by the same 3 episodes"):
        assert text in said
    for word in ("uncontrolled", "the site", "CO2"):
        assert word not in said
    return folder


def test_its_rows_are_episodes_and_say_what_was_aimed_at(job: Path) -> None:
    results = load(job / "job")
    assert results.of_environment
    assert set(results.trials["backend"]) == {"gymnasium"}
    assert set(results.trials["scenario"]) == {"examples.pump:make"}
    rated = results.rated_evaluations
    for _, trial in results.trials.iterrows():
        own = rated[rated["trial"] == trial["trial"]]
        further = 12 if trial["further_episodes"] > 0 else 0
        assert own["year"].tolist() == list(range(3 + further))
        assert own["info:bill"].mean() == pytest.approx(trial["objective"])
        assert own["score"].mean() == pytest.approx(trial["score"])
        assert trial["rating"] == -trial["objective"]
    assert results.best["further_episodes"] == 12, "whatever is the best was looked at again"
    assert LiveSearch.read(job / "job").best.endswith(f"(trial {results.best['trial']})")
    assert set(results.yardsticks.groupby("contender").size()) == {3}
    assert results.measures["info:bill"].better == "less"
    assert (job / "job" / "report.html").is_file()


def test_the_score_of_further_episodes_is_no_damage_of_the_study(job: Path) -> None:
    of = open_experiment(job / "job").trusting(True)
    best = int(load(of.paths.folder).best["trial"])
    check_study(of)
    TrialRecords(of).update(best, further_episodes=None)
    with pytest.raises(DamagedStudyError, match=f"trial {best} ended with"):
        check_study(of)
    with pytest.warns(UserWarning, match=f"trial {best}: its row has the score"):
        _ = load(of.paths.folder).evaluations
    # It went on since, or a run was killed: the episodes are there.
    look_again(of, lambda path: None, print)
    assert load(of.paths.folder).best["further_episodes"] == 12
    check_study(of)


def test_a_folder_that_names_code_runs_none_of_it_unless_it_is_trusted(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command in (main, judge):
        arguments = ["--resume", str(job / "job")] if command is main else [str(job / "job")]
        assert command(arguments) == 2
        told = capsys.readouterr()
        assert "--trust-scenario" in told.err
        assert "starting Ray" not in told.out + told.err


def test_a_judgement_of_it_takes_no_option_of_a_site_and_no_policy_that_is_none(
    job: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = "def act(observation):\n    return 1 / 0\ndef text(observation):\n    return ['full']\n"
    (job / "wrong.py").write_text(wrong, encoding="utf-8")
    for given, said in (
        (["--mpc", "none"], "--mpc: it is an option of a site"),
        (["--backend", "batch"], "--backend: it is an option of a site"),
        (["--baseline", "no/such.py:act"], "there is no file"),
        (["--baseline", str(job / "wrong.py:act")], "wrong.py:act failed: ZeroDivisionError: division by zero"),
        (
            ["--baseline", str(job / "wrong.py:text")],
            "wrong.py:text gave ['full'], which is no action of Box(0.0, 1.0, (1,), float32)",
        ),
    ):
        assert judge([str(job / "job"), "--trust-scenario", "--dir", str(job / "none"), *given]) == 2
        assert said in capsys.readouterr().err
    assert not (job / "none").exists()


@pytest.mark.slow
def test_a_judgement_has_fresh_seeds_and_a_policy_of_ones_own_beside(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (job / "rules.py").write_text(RULE, encoding="utf-8")
    given = [str(job / "job"), "--top", "1", "--seeds", "2", "--name", "judged", "--dir", str(job), "--trust-scenario"]
    assert judge([*given, "--baseline", str(job / "rules.py:act")]) == 0
    said = capsys.readouterr().out
    for text in ("50 episodes with seeds of the test", "rules:act", "no action", "random actions"):
        assert text in said
    # Another policy is added to what is there.
    (job / "others.py").write_text(RULE, encoding="utf-8")
    assert judge([*given, "--baseline", str(job / "others.py:act")]) == 0
    assert "others:act" in capsys.readouterr().out
    rows = load(job / "judged").evaluations
    assert {"rules:act", "others:act"} <= set(rows["contender"])
    assert rows.groupby("contender")["year"].nunique().unique().tolist() == [50]
    assert set(rows["split"]) == {"test"}
