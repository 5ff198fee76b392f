"""Which backend steps a scenario."""

from __future__ import annotations

from typing import Literal

from envs.batch_backend.unsupported import unsupported
from envs.errors import ScenarioError
from envs.scenarios.scenario import Scenario

Backend = Literal["batch", "citylearn"]
BackendChoice = Literal["auto", "batch", "citylearn"]


def beyond_batch(scenario: Scenario) -> list[str]:
    """Features of a scenario that the batch backend lacks, each in a few words; empty where it has them all."""
    # It has all that generated scenarios use; a look at their files here would generate them.
    if scenario.segments:
        paths = [scenario.schema_path(year) for year in range(len(scenario.segments))]
        return list(dict.fromkeys(missing for path in paths for missing in unsupported(path)))
    return unsupported(scenario.schema) if scenario.schema else []


def choose_backend(scenario: Scenario, choice: BackendChoice) -> Backend:
    """The backend that a choice means for a scenario.

    Raises:
        ScenarioError: if the choice is `batch` and the scenario uses features that it lacks.
    """
    if choice == "citylearn":
        return "citylearn"
    missing = beyond_batch(scenario)
    if missing and choice == "batch":
        raise ScenarioError(f"--backend batch cannot step {scenario.title}: {', '.join(missing)}; take citylearn or auto")
    return "citylearn" if missing else "batch"
