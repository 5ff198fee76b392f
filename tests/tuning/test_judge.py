"""A whole judgement, from searches to the table; and what is refused."""

from pathlib import Path

import pandas as pd
import pytest

from common.measure import SERVED_BOUND
from envs.yardsticks.baselines import RULES, UNCONTROLLED, WITHOUT
from results import load
from results.judgement import BOUNDS
from tests.tuning.trial.small_trials import completed
from tuning.experiment.folder import create
from tuning.experiment.settings import Settings
from tuning.export import main as export
from tuning.judge import main
from tuning.judging.race import Race
from tuning.run import main as run


@pytest.mark.slow
def test_a_judgement_end_to_end(
    small_schema: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    space = tmp_path / "space.toml"
    space.write_text("[gamma]\nlow = 0.9\nhigh = 0.99\n", encoding="utf-8")
    small = ["--scenario", str(small_schema), "--steps", "1024", "--num-envs", "4", "--validation-weeks", "1"]
    for algo in ("ppo", "a2c"):
        hyper = ["--set", "n_steps=128", "batch_size=64", "hidden_sizes=16", "--space", str(space), "--start-from"]
        assert run(["--algo", algo, *small, *hyper, "--trials", "1", "--name", algo]) == 0
    command = ["experiments/ppo", "experiments/a2c", "--top", "1", "--seeds", "2", "--name", "one", "--mpc", "seven-days"]
    assert main(command) == 0
    said = capsys.readouterr().out
    assert "judging by citylearn" in said
    folder = tmp_path / "judgements" / "one"
    found = load(folder).evaluations
    contenders = {"ppo 0", "a2c 0", "ppo default, 1,024 steps", "a2c default, 1,024 steps"}
    # The bound of the score serves the vehicles of this site, so there is no other one.
    bounds = set(BOUNDS) - {SERVED_BOUND}
    assert contenders | {UNCONTROLLED, WITHOUT, *RULES, *bounds, "MPC: seven days"} <= set(found["contender"])
    assert set(found["split"]) == {"test"}
    own = found[found["contender"].isin(contenders)]
    for backend in ("batch", "citylearn"):
        assert (own[own["backend"] == backend].groupby("contender")["seed"].nunique() == 2).all()
    # Pairs have the same seed, which no search had.
    seeds = own.groupby("contender")["seed"].agg(lambda seeds: tuple(sorted(set(seeds))))
    assert seeds.nunique() == 1
    assert not set(seeds.iloc[0]) & set(load(tmp_path / "experiments" / "ppo").trials["seed"])
    # Both backends give CityLearn's ratios, and the same ones.
    ratios = own.pivot_table(index=["contender", "seed", "year"], columns="backend", values="citylearn_2022_score")
    assert ratios["batch"].to_numpy() == pytest.approx(ratios["citylearn"].to_numpy(), rel=1e-6)
    table = pd.read_parquet(folder / "judgement.parquet")
    assert set(table["contender"]) == set(found["contender"])
    assert table.set_index("contender").loc[list(bounds), ["co2_change", "bill_change"]].notna().all(axis=None)
    limits = found[found["contender"].isin(bounds)]
    assert limits["ev_missing_kwh"].notna().all()
    assert "amounts of a year of 8,760 h" in (folder / "judgement.md").read_text(encoding="utf-8")
    assert "of the bound" in (folder / "judgement.md").read_text(encoding="utf-8")
    # Once more does nothing but tell.
    times = {path: path.stat().st_mtime_ns for path in (folder / "results").rglob("*.parquet")}
    assert main(command) == 0
    assert times == {path: path.stat().st_mtime_ns for path in (folder / "results").rglob("*.parquet")}
    assert "continued" in capsys.readouterr().out
    # A run of it is exported with its figures.
    assert export([str(folder / "runs" / "ppo-0"), "--trial", "1", "--to", "exported"]) == 0
    card = (tmp_path / "exported" / "README.md").read_text(encoding="utf-8")
    assert "judged on hours that no search has seen" in card
    assert "| ppo 0 | 2 |" in card


@pytest.mark.slow
def test_citylearn_judges_by_the_aim_of_the_search(
    small_schema: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    given = ["--steps", "1024", "--num-envs", "4", "--validation-weeks", "1", "--trials", "1", "--name", "ppo"]
    aim = ["--weights", "co2=0.4", "cost=0.3", "peak=0.2", "ev=0.1", "--objective", "daily_peak_kw"]
    # Charging is by a rule, so the vehicles get what they can be given.
    bounds = ["--require", "ev_served>=0.5", "import_kwh>=1"]
    hyper = ["--set", "n_steps=128", "batch_size=64", "hidden_sizes=16"]
    assert run(["--scenario", str(small_schema), *given, *aim, *bounds, *hyper]) == 0
    capsys.readouterr()
    command = ["experiments/ppo", "--top", "1", "--seeds", "2", "--name", "one", "--mpc", "seven-days"]
    assert main(command) == 0
    said = capsys.readouterr().out
    assert "judging by citylearn" in said
    assert "weights: co2 0.4, cost 0.3, ev 0.1, peak 0.2; objective: daily_peak_kw (less is better)" in said
    # CityLearn's own rules charge by the hour, and miss it.
    assert "as they miss ev_served >= 0.5 and import_kwh >= 1" in said
    folder = tmp_path / "judgements" / "one"
    own = pd.read_parquet(folder / "judgement.parquet").set_index("contender")
    assert own.loc[["ppo 0", "MPC: seven days", UNCONTROLLED], "objective"].gt(0.0).all()
    assert own.loc[["ppo 0", UNCONTROLLED], "comparable"].all()
    found = load(folder).evaluations
    runs = found[found["contender"] == "ppo 0"]
    figures = runs.pivot_table(index=["seed", "year"], columns="backend", values=["daily_peak_kw", "score", "import_kwh"])
    for name in ("daily_peak_kw", "score", "import_kwh"):
        assert figures[name]["batch"].to_numpy() == pytest.approx(figures[name]["citylearn"].to_numpy(), rel=1e-6, abs=1e-6)


@pytest.fixture
def searched(small_schema: Path, tmp_path: Path) -> list[str]:
    """The command that judges a search with one trial."""
    settings = Settings(scenario=str(small_schema), backend="batch", name="e", dir=str(tmp_path), steps=100_000)
    completed(create(settings), (0.05, {"gamma": 0.9}))
    return [str(tmp_path / "e"), "--dir", str(tmp_path / "j")]


def test_without_a_contender_that_is_left_it_says_why(
    searched: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(self: Race) -> None:
        self.failed = {"e 0": "run 1 failed: it diverged"}

    monkeypatch.setattr(Race, "run", fail)
    assert main([*searched, "--name", "one"]) == 1
    said = capsys.readouterr()
    assert "e 0 failed and cannot win: run 1 failed: it diverged" in (tmp_path / "j/one/judgement.md").read_text(
        encoding="utf-8"
    )
    assert "no contender is left" in said.err


def test_the_batch_backend_is_refused_where_it_cannot_step(
    searched: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("envs.task.beyond_batch", lambda *_: ["outages"])
    monkeypatch.setattr(Race, "run", lambda self, judged_by: None)
    assert main([*searched, "--backend", "batch"]) == 2
    assert "--backend batch: it cannot step" in capsys.readouterr().err
    assert not (tmp_path / "j").exists()
