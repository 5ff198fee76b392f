"""What is read of CityLearn's models of occupants is the models."""

import pickle
from pathlib import Path

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier, ExtraTreeRegressor

from common.errors import ScenarioError
from envs.citylearn_backend.occupants import read_people
from envs.citylearn_backend.simulator import CityLearnSimulator
from tests.envs.models import with_people
from tests.envs.schema_changes import with_series


@pytest.mark.parametrize(
    ("file", "content", "what"),
    [
        (
            "mall_people.csv",
            b"a_increase,b_increase,a_decrease,b_decrease\n0,0,0,0\n",
            "gives a_increase in 1 row, and the si",
        ),
        ("mall_increase.pkl", pickle.dumps(DecisionTreeClassifier().fit(np.eye(5), range(5))), "takes 5 inputs, and CityL"),
        ("mall_decrease.pkl", pickle.dumps(DecisionTreeClassifier().fit(np.eye(3), [0, 1, 7])), "delta_output_map lacks 7"),
    ],
)
def test_models_that_would_fail_in_the_middle_of_a_run_are_named_before(
    small_schema: Path, tmp_path: Path, file: str, content: bytes, what: str
) -> None:
    path = with_people(small_schema, tmp_path)
    (tmp_path / file).write_bytes(content)
    with pytest.raises(ScenarioError, match=f"building mall: .*{what}"):
        CityLearnSimulator(path, with_reward=False, trusted=True)


def test_all_that_would_fail_is_named_at_once(small_schema: Path, tmp_path: Path) -> None:
    path = with_series(with_people(small_schema, tmp_path), hvac_mode=0)
    for change in ("increase", "decrease"):
        (tmp_path / f"mall_{change}.pkl").write_bytes(pickle.dumps(DecisionTreeClassifier().fit(np.eye(5), range(5))))
    with pytest.raises(ScenarioError) as error:
        CityLearnSimulator(path, with_reward=False, trusted=True)
    told = str(error.value)
    assert all(what in told for what in ("setpoint_increase_model", "setpoint_decrease_model", "its hvac_mode is 0"))


def test_another_model_than_a_tree_is_named_with_what_to_do(small_schema: Path, tmp_path: Path) -> None:
    path = with_people(small_schema, tmp_path)
    model = ExtraTreeRegressor().fit(np.zeros((2, 3)), [0.0, 1.0])
    (tmp_path / "mall_decrease.pkl").write_bytes(pickle.dumps(model))
    simulator = CityLearnSimulator(path, with_reward=False, trusted=True)
    with pytest.raises(ScenarioError, match=r"its occupants is of the class ExtraTreeRegressor, .* citylearn"):
        read_people(simulator.env.buildings[0], {})
