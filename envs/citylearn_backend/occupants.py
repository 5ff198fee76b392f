"""CityLearn's models of people who change set points: their checks, and how they become the batch simulator's arrays."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from common.errors import ScenarioError
from common.texts import counted
from envs.batch_backend import records
from envs.batch_backend.occupants import NODE, People

# Observations that follow from set points: `kind` and `use` of `People.shown`.
SHOWN = {
    f"indoor_dry_bulb_temperature_{side}_{what}": (kind, use)
    for use, side in enumerate(("cooling", "heating"))
    for kind, what in enumerate(("set_point", "delta"))
}


def has_occupants(building: Any) -> bool:
    """Whether people change the set points of a building of CityLearn."""
    from citylearn.building import LogisticRegressionOccupantInteractionBuilding

    return isinstance(building, LogisticRegressionOccupantInteractionBuilding)


def check_occupants(schema_path: Path, buildings: Sequence[Any]) -> None:
    """Raise a ScenarioError for models and rows with which CityLearn would fail in the middle of a run."""
    peopled = (building for building in buildings if has_occupants(building) and not building.ignore_dynamics)
    if faults := [f"{schema_path}: building {building.name}{fault}" for building in peopled for fault in _faults(building)]:
        raise ScenarioError(*faults)


def _faults(building: Any) -> Iterator[str]:
    occupant = building.occupant
    rows = building.episode_tracker.simulation_end_time_step + 1
    for name in ("a_increase", "b_increase", "a_decrease", "b_decrease"):
        values = vars(occupant.parameters)[f"_{name}"][:rows]
        if len(values) < rows or not np.isfinite(values).all():
            yield (
                f": the file of its occupants' parameters_filename gives {name} in "
                f"{counted(np.isfinite(values).sum(), 'row')}, and the site runs up to row {rows:,}; give a number in each row"
            )
    for change in ("increase", "decrease"):
        model = getattr(occupant, f"_LogisticRegressionOccupant__setpoint_{change}_model")
        if (inputs := getattr(model, "n_features_in_", 3)) != 3:
            yield f": setpoint_{change}_model takes {counted(inputs, 'input')}, and CityLearn gives it 3; fit it again"
        if missing := [kind for kind in getattr(model, "classes_", ()) if kind not in occupant.delta_output_map]:
            yield f": delta_output_map lacks {missing[0]}, which setpoint_{change}_model may say; add it"
    if len(modes := np.setdiff1d(building.energy_simulation.hvac_mode, (1, 2))):
        yield (
            f" has occupants, and its hvac_mode is {modes[0]} in some rows, in which CityLearn knows no set point for them to "
            "change; give 1 for cooling or 2 for heating"
        )


def people_move(building: Any, name: str) -> float:
    """By how much people may move an observation beyond its schedule [C]: twice the greatest change; 0 for most."""
    if not has_occupants(building) or name not in SHOWN:
        return 0.0
    return 2.0 * max(map(abs, building.occupant.delta_output_map.values()))


def read_people(building: Any, places: Mapping[str, int]) -> People:
    """Model of the people in a building, and what of its set points is at which place of the observation."""
    occupant, degrees = building.occupant, building.occupant.delta_output_map
    higher = _read_tree(building, occupant._LogisticRegressionOccupant__setpoint_increase_model, degrees, 1.0)
    lower = _read_tree(building, occupant._LogisticRegressionOccupant__setpoint_decrease_model, degrees, -1.0)
    for side in ("low", "high"):
        lower[side] += len(higher)
    shown = [(kind, 0, use, places[name], 0.0, 1.0, np.inf) for name, (kind, use) in SHOWN.items() if name in places]
    return People(np.concatenate([higher, lower]), np.array([0, len(higher)]), np.array(shown, dtype=records.OBSERVED))


def _read_tree(building: Any, model: Any, degrees: Mapping[int, float], sign: float) -> np.ndarray:
    """`NODE` of a decision tree, whose classes are keys of `degrees`."""
    from sklearn.tree import DecisionTreeClassifier

    if not isinstance(model, DecisionTreeClassifier):
        raise ScenarioError(
            f"building {building.name}: a model of its occupants is of the class {type(model).__name__}, and the batch backend "
            "steps decision trees; take --backend citylearn"
        )
    tree = model.tree_
    node = np.zeros(tree.node_count, dtype=NODE)
    is_leaf = tree.children_left < 0
    node["feature"], node["threshold"] = np.where(is_leaf, -1, tree.feature), tree.threshold
    node["low"], node["high"] = tree.children_left, tree.children_right
    chosen = model.classes_.take(tree.value[:, 0].argmax(axis=1))
    node["change"][is_leaf] = [sign * degrees[kind] for kind in chosen[is_leaf]]
    return node


def read_habits(building: Any) -> np.ndarray:
    """`habit` of `envs.batch_backend.occupants.step`, shape (R, 4)."""
    parameters = building.occupant.parameters
    return np.stack((parameters.a_increase, parameters.b_increase, parameters.a_decrease, parameters.b_decrease), axis=-1)
