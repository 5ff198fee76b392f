"""What an algorithm has to consist of."""

import subprocess
import sys
from dataclasses import replace

import pytest

from tests.tuning.algorithms.toy_algorithm import TOY
from tuning.algorithms.registry import names


def test_a_spec_without_a_default_preset_is_refused() -> None:
    with pytest.raises(ValueError, match="toy has no preset default"):
        replace(TOY, presets={"far": {}})


def test_a_preset_is_completed_by_the_space_and_given_values_override_it() -> None:
    assert TOY.preset("default") == {"radius": 0.1}
    assert TOY.preset("far") == {"radius": 1.0}
    assert TOY.preset("far", {"radius": 0.5}) == {"radius": 0.5}


@pytest.mark.parametrize("name", names())
def test_a_spec_loads_neither_ray_nor_torch(name: str) -> None:
    code = (
        "import sys; from tuning.algorithms.registry import algorithm; "
        f"algorithm({name!r}); print(*({{'ray', 'torch'}} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
