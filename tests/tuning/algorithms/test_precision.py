"""What depends on the device is done as asked, or refused."""

from typing import Any

import numpy as np
import pytest
import torch

from tuning.algorithms.precision import NEED_GPU, check_device, compiled, to_device


@pytest.mark.parametrize("name", NEED_GPU)
def test_what_only_a_card_can_do_is_refused_without_one(name: str) -> None:
    given = {**dict.fromkeys(NEED_GPU), name: True}
    with pytest.raises(ValueError, match=f"{name}=true: it needs a GPU"):
        check_device(given, gpu=False)
    check_device(given, gpu=True)
    check_device(dict.fromkeys(NEED_GPU), gpu=False)


@pytest.mark.parametrize(("graphs", "mode"), [(True, "reduce-overhead"), (False, None)])
def test_cuda_graphs_are_a_mode_of_the_compiler(graphs: bool, mode: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(torch, "compile", lambda function, mode: asked.append(mode) or function)
    compiled(torch.sin, {"torch_compile": True, "cuda_graphs": graphs})
    assert asked == [mode]
    assert compiled(torch.sin, {"torch_compile": False, "cuda_graphs": None}) is torch.sin
    assert asked == [mode]


def test_on_the_cpu_an_array_is_not_copied() -> None:
    array = np.zeros(3, np.float32)
    tensor = to_device(array, torch.device("cpu"), pinned=False)
    tensor += 1.0
    assert (array == 1.0).all()
