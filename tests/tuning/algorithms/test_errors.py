"""Learning that ends in numbers that are not finite is an error with a remedy."""

import math

import pytest

from tuning.algorithms.errors import DivergedError, check_finite


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_it_names_what_is_not_finite_and_when(value: float) -> None:
    with pytest.raises(DivergedError, match=r"^policy_loss, kl not finite after 512 steps: lower learning_rate"):
        check_finite({"policy_loss": value, "value_loss": 1.0, "kl": value}, 512)


def test_an_explained_variance_may_be_missing() -> None:
    check_finite({"explained_variance": math.nan, "policy_loss": 0.0}, 1)
