"""What earlier versions wrote can be loaded, and after an explicit upgrade continued and used."""

import json
import shutil
import subprocess
import sys
from io import StringIO
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from results import load
from tests.tuning.release import unpack
from tuning import ExportSettings, JudgeSettings, RolloutSettings, compare, export_policy, resume, roll_out
from tuning.trial.checkpoint_files import FormatError
from tuning.upgrade import main

RELEASES = ("0.1.0",)
# Training is repeated bit by bit on one processor only; another one's rounding grows over the updates.
SCORE_TOLERANCE = 5e-3


@pytest.fixture(scope="module", params=RELEASES)
def written(small_ray: None, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with what a release wrote; JSON files name the site where it lies now, as after a move to another machine."""
    return unpack(request.param, tmp_path_factory.mktemp("release"))


@pytest.fixture(scope="module")
def release(written: Path) -> Path:
    """The same, with checkpoints that were turned into data."""
    assert main([str(written)]) == 0
    return written


def test_pickled_checkpoints_are_opened_by_the_upgrade_alone(written: Path) -> None:
    experiment = written / "experiments" / "ppo"
    before = {path: path.read_bytes() for path in written.rglob("*") if path.is_file()}
    said = f"python -m tuning.upgrade {experiment}"
    for use in (
        lambda: resume(experiment, console=Console(quiet=True)),
        lambda: roll_out(RolloutSettings(experiment, "0", to=written / "not")),
        lambda: export_policy(ExportSettings(experiment, written / "not", "0")),
    ):
        with pytest.raises(FormatError, match="holds pickled objects") as refused:
            use()  # type: ignore[no-untyped-call]
        assert said in str(refused.value)
    assert {path: path.read_bytes() for path in written.rglob("*") if path.is_file()} == before


def test_the_upgrade_says_what_it_did(written: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copy = tmp_path / "ppo"
    shutil.copytree(written / "experiments" / "ppo", copy)
    checkpoints = sorted(path.parent for path in copy.rglob("state.pickle"))
    assert main([str(copy)]) == 0
    assert capsys.readouterr().out == "".join(f"{path} holds data alone now\n" for path in checkpoints)
    assert main([str(copy)]) == 0
    assert capsys.readouterr().out == f"{copy} has no checkpoint of version 0.1\n"
    assert main([str(copy / "none")]) == 2
    assert capsys.readouterr().err.startswith(f"error: no folder {copy / 'none'}")


def test_results_and_judgement_load(release: Path) -> None:
    trials = load(release / "experiments" / "sac").trials
    assert trials["state"].tolist() == ["complete"]
    judged = load(release / "judgements" / "judged").evaluations
    assert {"ppo 0", "uncontrolled", "bound of score"} <= set(judged["contender"])
    table = pd.read_parquet(release / "judgements" / "judged" / "judgement.parquet")
    assert table["score"].notna().any()


def test_a_stopped_search_goes_on_to_the_results_of_an_undisturbed_one(release: Path) -> None:
    folder = release / "experiments" / "ppo"
    assert load(folder).trials["state"].tolist() == ["complete", "running"]
    out = StringIO()
    resume(folder, console=Console(file=out, width=200))
    assert "the code has changed" in out.getvalue()
    trials = load(folder).trials
    expected = pd.concat(
        [pd.read_parquet(path) for path in sorted((release / "expected" / "ppo-results" / "trials").glob("*.parquet"))]
    )
    assert trials["state"].tolist() == expected["state"].tolist()
    assert trials["steps"].tolist() == expected["steps"].tolist()
    np.testing.assert_allclose(trials["score"], expected["score"], atol=SCORE_TOLERANCE)
    given = [name for name in expected if name.startswith("hp_")]
    assert given
    for name in given:
        assert trials[name].tolist() == expected[name].tolist() or trials[name].isna().all(), name


def test_a_replay_buffer_goes_on_where_it_was(release: Path) -> None:
    folder = release / "experiments" / "sac"
    before = load(folder).reports
    after = resume(folder, steps=768, extend=True, console=Console(quiet=True))
    assert after.trials["state"].tolist() == ["complete"]
    assert after.trials["steps"][0] >= 768
    # What was trained before stands as it was, and the rest follows it.
    pd.testing.assert_frame_equal(after.reports.head(len(before)), before)
    assert len(after.reports) > len(before)


def test_a_policy_rolls_out_and_is_exported(release: Path) -> None:
    experiment = release / "experiments" / "ppo"
    assert len(roll_out(RolloutSettings(experiment, "0", to=release / "rolled")).hours) == 960
    files = export_policy(ExportSettings(experiment, release / "again", "0"))
    assert {path.name for path in files} == {path.name for path in (release / "exported").iterdir()}


def test_an_exported_policy_controls_the_site(release: Path) -> None:
    command = [sys.executable, "controller.py", str(release / "site" / "schema.json"), "48"]
    done = subprocess.run(command, cwd=release / "exported", capture_output=True, text=True, check=False)
    assert done.stdout.startswith("48 hours, "), done.stderr


def test_a_judgement_is_told_again(release: Path) -> None:
    judgement = release / "judgements" / "judged"
    before = json.loads((judgement / "judgement.json").read_text(encoding="utf-8"))
    table = pd.read_parquet(judgement / "judgement.parquet")
    settings = JudgeSettings(
        (release / "experiments" / "ppo",), top=1, seeds=2, judged_by="batch", dir=judgement.parent, name=judgement.name,
        mpc=("none",),
    )  # fmt: skip
    out = StringIO()
    compare(settings, Console(file=out, width=200))
    assert "continued" in out.getvalue()
    assert json.loads((judgement / "judgement.json").read_text(encoding="utf-8")) == before
    # Intervals have another method since, so that they cover at few runs.
    kept = [name for name in table.columns if not name.endswith(("_low", "_high"))]
    pd.testing.assert_frame_equal(pd.read_parquet(judgement / "judgement.parquet")[kept], table[kept])
