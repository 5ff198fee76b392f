"""Parameters of a network as one vector, and optimizers that import no compiler."""

import subprocess
import sys

import pytest
import torch
from torch import nn

from tuning.algorithms.vectors import Adam, FlatParameters, RMSprop


def network() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 5), nn.Linear(5, 2))


def test_gradients_are_added_into_one_vector_in_place() -> None:
    own, module = network(), network()
    flat = FlatParameters(list(module.parameters()))
    inputs = torch.randn(4, 3)
    for _ in range(2):
        own(inputs).sum().backward()
        module(inputs).sum().backward()
    norm = torch.cat([parameter.grad.flatten() for parameter in own.parameters() if parameter.grad is not None]).norm()
    assert float(flat.gradient.norm()) == pytest.approx(float(norm), rel=1e-6)
    flat.gradient.zero_()
    assert all((parameter.grad == 0.0).all() for parameter in module.parameters())


def test_each_parameter_begins_at_a_cache_line() -> None:
    module = network()
    flat = FlatParameters(list(module.parameters()))
    start = flat.vector.data_ptr()
    assert all((parameter.data_ptr() - start) % 64 == 0 for parameter in module.parameters())


def test_what_is_not_trained_has_no_gradient() -> None:
    module = network().requires_grad_(False)
    assert FlatParameters(list(module.parameters())).vector.grad is None


@pytest.mark.parametrize(("ours", "torchs"), [(Adam, torch.optim.Adam), (RMSprop, torch.optim.RMSprop)])
def test_steps_are_those_of_torch(ours: type[torch.optim.Optimizer], torchs: type[torch.optim.Optimizer]) -> None:
    ends = []
    for kind in (ours, torchs):
        own = network()
        optimizer = kind(own.parameters(), lr=0.01)  # type: ignore[call-arg]
        for _ in range(3):
            optimizer.zero_grad()
            own(torch.ones(4, 3)).square().sum().backward()
            optimizer.step()
        ends.append(torch.cat([parameter.detach().flatten() for parameter in own.parameters()]))
    assert torch.equal(*ends)


def test_torchs_compiler_is_not_imported() -> None:
    program = (
        "import sys, torch\n"
        "from tuning.algorithms.vectors import Adam\n"
        "vector = torch.nn.Parameter(torch.zeros(3))\n"
        "vector.grad = torch.ones(3)\n"
        "optimizer = Adam([vector], fused=True)\n"
        "optimizer.step()\n"
        "optimizer.load_state_dict(optimizer.state_dict())\n"
        "print('torch._dynamo' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, check=True)
    assert done.stdout.strip() == "False"
