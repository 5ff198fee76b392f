"""Transitions, advantages, minibatches."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from tuning.algorithms.on_policy.batch import Batch, advantages, explained_variance, minibatches


def batch(rows: int) -> Batch:
    ones = torch.ones(rows)
    return Batch(torch.arange(rows)[:, None].float(), torch.zeros(rows, 2), ones, torch.zeros(rows, 4), ones, ones, ones)


@pytest.mark.parametrize(("count", "size", "sizes"), [(100, 30, {33, 34}), (100, 25, {25}), (10, 64, {10}), (7, 2, {1, 2})])
def test_minibatches_hold_each_transition_once_and_are_nearly_equal(count: int, size: int, sizes: set[int]) -> None:
    pieces = list(minibatches(count, size))
    assert sorted(torch.cat(list(pieces)).tolist()) == list(range(count))
    assert {len(piece) for piece in pieces} == sizes


def test_minibatches_are_drawn_anew() -> None:
    torch.manual_seed(0)
    first, second = (torch.cat(list(minibatches(50, 10))).tolist() for _ in range(2))
    assert first != second


def test_an_index_takes_rows_of_everything() -> None:
    taken = batch(10).take(torch.tensor([7, 2]))
    assert len(taken) == 2
    assert taken.observations.flatten().tolist() == [7.0, 2.0]
    assert taken.inputs.shape == (2, 4)


def test_a_part_is_a_view() -> None:
    whole = batch(10)
    whole.part(slice(2, 4)).observations.fill_(-1.0)
    assert whole.observations.flatten().tolist()[:5] == [0.0, 1.0, -1.0, -1.0, 4.0]


def test_the_explained_variance_is_1_for_the_targets_and_0_for_their_mean() -> None:
    targets = torch.tensor([1.0, 2.0, 4.0])
    rollout = replace(batch(3), targets=targets)
    assert explained_variance(replace(rollout, values=targets.clone())) == pytest.approx(1.0)
    assert explained_variance(replace(rollout, values=targets.mean().expand(3))) == pytest.approx(0.0)
    assert math.isnan(explained_variance(replace(rollout, targets=torch.ones(3))))


def test_gamma_and_lambda_are_those_of_the_advantages() -> None:
    rng = np.random.default_rng(0)
    rewards, values, last = rng.standard_normal(7), rng.standard_normal(7), np.array([0.7, 0.0])
    found = advantages(rewards, values, last, np.array([4, 7]), 0.9, 0.6)
    for start, end, beyond in ((0, 4, 0.7), (4, 7, 0.0)):
        following = np.append(values[start + 1 : end], beyond)
        deltas = rewards[start:end] + 0.9 * following - values[start:end]
        for t in range(end - start):
            expected = sum((0.9 * 0.6) ** i * delta for i, delta in enumerate(deltas[t:]))
            assert found[start + t] == pytest.approx(expected)
