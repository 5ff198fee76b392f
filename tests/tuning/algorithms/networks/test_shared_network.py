"""The compiled network for chargers against the same one as layers."""

import math

import pytest
import torch

from tuning.algorithms.networks.shared_network import as_layers, shared_network

ROWS, FEATURES, THINGS, UNITS = 7, 3, 5, 6


def arguments(outputs: int, wanted: slice = slice(None)) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(outputs)
    shapes = [(ROWS, FEATURES, THINGS), (UNITS, FEATURES), (UNITS, THINGS), (ROWS, UNITS), (outputs, UNITS), (outputs,)]
    made = [torch.randn(shape, generator=generator) for shape in shapes]
    return [value.requires_grad_(i in range(6)[wanted]) for i, value in enumerate(made)]


@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize("wanted", [slice(None), slice(1, None), slice(0, 1)], ids=["all", "parameters", "features"])
def test_outputs_and_gradients_are_those_of_the_layers(outputs: int, wanted: slice) -> None:
    weights = torch.randn(ROWS, outputs, THINGS, generator=torch.Generator().manual_seed(9))
    found = []
    for function in (shared_network, as_layers):
        given = arguments(outputs, wanted)
        result = function(*given)
        (result * weights).sum().backward()  # type: ignore[no-untyped-call]
        found.append([result.detach(), *(value.grad for value in given if value.grad is not None)])
    assert len(found[0]) == len(found[1]) == 1 + len(range(6)[wanted])
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-5)


def test_the_layers_are_what_the_formula_says() -> None:
    x, weight, own, common, output, bias = arguments(2)
    r, i = 3, 4
    hidden = torch.relu(weight @ x[r, :, i] + own[:, i] + common[r])
    torch.testing.assert_close(as_layers(x, weight, own, common, output, bias)[r, :, i], bias + output @ hidden)


def test_what_is_not_a_number_stays_that() -> None:
    given = arguments(1)
    with torch.no_grad():
        given[3][2, 0] = math.nan
    result = shared_network(*given)
    assert result[2].isnan().all()
    assert result[:2].isfinite().all()
    result.sum().backward()  # type: ignore[no-untyped-call]
    assert given[4].grad is not None
    assert given[4].grad.isnan().any()


def test_other_precisions_go_through_the_layers() -> None:
    given = [value.detach().double() for value in arguments(1)]
    assert shared_network(*given).dtype == torch.float64
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert shared_network(*(value.detach() for value in arguments(1))).dtype in (torch.bfloat16, torch.float32)
