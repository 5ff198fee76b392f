"""What earlier versions wrote can be loaded, continued and used."""

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from results import load

ASSETS = Path(__file__).parent / "assets"
WRITTEN_AT = "/home/engineer"  # where the files lay when they were written
RELEASES = ("0.1.0",)
# Training is repeated bit by bit on one processor only; another one's rounding grows over the updates.
SCORE_TOLERANCE = 5e-3


@pytest.fixture(scope="module", params=RELEASES)
def release(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with what a release wrote; JSON files name the site where it lies now, as after a move to another machine."""
    folder = tmp_path_factory.mktemp("release")
    with zipfile.ZipFile(ASSETS / f"release-{request.param}.zip") as file:
        file.extractall(folder)
    for path in folder.rglob("*.json"):
        path.write_text(path.read_text(encoding="utf-8").replace(WRITTEN_AT, folder.as_posix()), encoding="utf-8")
    return folder


def run(folder: Path, *arguments: str) -> str:
    """Output of a command that has to succeed."""
    done = subprocess.run([sys.executable, *arguments], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


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
    said = run(release, "-m", "tuning.run", "--resume", str(folder))
    assert "other code than before" in said
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
    run(release, "-m", "tuning.run", "--resume", str(folder), "--steps", "768", "--extend")
    after = load(folder)
    assert after.trials["state"].tolist() == ["complete"]
    assert after.trials["steps"][0] >= 768
    # What was trained before stands as it was, and the rest follows it.
    pd.testing.assert_frame_equal(after.reports.head(len(before)), before)
    assert len(after.reports) > len(before)


def test_a_policy_rolls_out_and_is_exported(release: Path) -> None:
    experiment = str(release / "experiments" / "ppo")
    run(release, "-m", "tuning.rollout", experiment, "--trial", "0", "--to", str(release / "rolled"))
    (hours,) = (release / "rolled").glob("*.parquet")
    assert len(pd.read_parquet(hours)) == 960
    run(release, "-m", "tuning.export", experiment, "--trial", "0", "--to", str(release / "again"))
    assert {path.name for path in (release / "again").iterdir()} == {path.name for path in (release / "exported").iterdir()}


def test_an_exported_policy_controls_the_site(release: Path) -> None:
    said = run(release / "exported", "controller.py", str(release / "site" / "schema.json"), "48")
    assert said.startswith("48 hours, ")


def test_a_judgement_is_told_again(release: Path) -> None:
    judgement = release / "judgements" / "judged"
    before = json.loads((judgement / "judgement.json").read_text(encoding="utf-8"))
    table = pd.read_parquet(judgement / "judgement.parquet")
    command = ["-m", "tuning.judge", str(release / "experiments" / "ppo"), "--top", "1", "--seeds", "2", "--judged-by", "batch"]
    said = run(release, *command, "--dir", str(judgement.parent), "--name", judgement.name)
    assert "continued" in said
    assert json.loads((judgement / "judgement.json").read_text(encoding="utf-8")) == before
    pd.testing.assert_frame_equal(pd.read_parquet(judgement / "judgement.parquet"), table)
