"""Whatever is done to a scenario's files, it is refused in clear lines or runs: no other exception, no hang, no stale cache."""

import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from common.errors import UserError
from envs.citylearn_backend.simulator import CityLearnSimulator
from envs.scenarios.scenario import scenario
from envs.scenarios.shapes import MOST
from tests.envs import mutants
from tests.envs.mutants import Files
from tests.envs.tanks import with_tank

LONGEST = 10.0  # seconds for a check; it takes some hundredths
UNREAD = ("carbon_intensity.csv",)  # may be named by no building of a mutant


@pytest.fixture(scope="module")
def files(small_schema: Path, tmp_path_factory: pytest.TempPathFactory) -> Files:
    """Of two buildings with tanks, of which one has chargers too."""
    return mutants.base(with_tank(small_schema, tmp_path_factory.mktemp("tanks"), cooling=True, twin=True))


def check(folder: Path, sound: str) -> str:
    """Outcome of a mutant: `refused`, `same`, or `other`, as its cache has the same name or another."""
    began = time.monotonic()
    try:
        site = scenario(str(folder / "schema.json"))
        site.windows("train")
    except UserError as error:
        lines = str(error).splitlines()
        assert 1 <= len(lines) <= MOST + 1, lines
        for line in lines:
            assert line.isprintable(), repr(line)
            assert len(line) < 1000, line
            # A mutant may name a file of the system.
            named = str(folder) in line or "/etc/passwd" in line
            assert named or (line.startswith("and ") and line.endswith(" more")), line
        return "refused"
    finally:
        assert time.monotonic() - began < LONGEST
    return "same" if site.key == sound else "other"


def run(folder: Path) -> str:
    """Three steps of CityLearn; what it is not made for is refused too."""
    try:
        simulator = CityLearnSimulator(folder / "schema.json", with_reward=True)
        simulator.begin(0, 24, seed=0)
        for _ in range(3):
            raw, reward = simulator.step(simulator.uncontrolled_actions())
        assert np.isfinite(raw).all()
        assert np.isfinite(reward)
    except UserError:
        return "refused by its simulator"
    return "run"


def outcomes(folder: Path, files: Files, first: int, count: int, simulated: int = 0) -> Counter[str]:
    """Outcomes of numbered mutants; of those that pass, the first few are run too."""
    folder.mkdir()
    mutants.write(folder, files)
    sound = scenario(str(folder / "schema.json")).key
    found: Counter[str] = Counter()
    before = files
    for number in range(first, first + count):
        done, changed = mutants.mutant(np.random.default_rng([17, number]), files)
        mutants.write(folder, changed, before)
        before = changed
        try:
            outcome = check(folder, sound)
            # A change that is read has a cache of its own.
            assert outcome != "same" or changed == files or set(_differing(changed, files)) <= set(UNREAD), done
            found[outcome] += 1
            if outcome == "other" and simulated and found["run"] + found["refused by its simulator"] < simulated:
                found[run(folder)] += 1
        except Exception as error:
            error.add_note(f"mutant {number}: {done}")
            raise
    return found


def _differing(changed: Files, files: Files) -> list[str]:
    return [name for name in files if changed.get(name) != files[name]]


def test_a_selection_of_mutants_is_refused_or_passes(tmp_path: Path, files: Files) -> None:
    found = outcomes(tmp_path / "site", files, 0, 50, simulated=2)
    assert found["refused"] > 25
    assert found["other"] > 1


@pytest.mark.slow
def test_thousands_of_mutants_are_refused_or_pass_and_hundreds_of_these_run_in_citylearn(tmp_path: Path, files: Files) -> None:
    found = outcomes(tmp_path / "site", files, 0, 6000, simulated=300)
    print(found)
    assert found["refused"] > 3000
    assert found["run"] > 200
