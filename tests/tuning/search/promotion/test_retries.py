"""A trial is tried again as long as that helps."""

from tuning.memory.planner import FALLBACKS
from tuning.search.promotion.retries import MOST_LOSSES, Losses, memory_saving, next_attempt


def test_losses_are_counted_anew_once_there_is_another_checkpoint() -> None:
    losses = Losses()
    for _ in range(MOST_LOSSES):
        losses = losses.another(steps=100)
        assert not losses.are_too_many
    assert losses.another(steps=100).are_too_many
    assert losses.another(steps=200) == Losses(1, 200)


def test_a_first_loss_before_any_checkpoint_counts_once() -> None:
    assert Losses().another(steps=0) == Losses(1, 0)


def test_memory_is_saved_only_after_a_trial_ran_out_of_it_alone() -> None:
    assert [memory_saving(times) for times in range(5)] == [
        FALLBACKS[0],
        FALLBACKS[0],
        FALLBACKS[1],
        FALLBACKS[2],
        FALLBACKS[2],
    ]


def test_what_comes_next_after_running_out_of_memory() -> None:
    assert [next_attempt(times, adapt=False) for times in (1, 2)] == ["next it is alone on the machine", None]
    assert [next_attempt(times, adapt=True) for times in range(1, len(FALLBACKS) + 2)] == [
        "next it is alone on the machine", "next with half minibatches", "next with half minibatches, bfloat16", None
    ]  # fmt: skip


def test_what_is_announced_is_what_is_done() -> None:
    for times in range(2, len(FALLBACKS) + 1):
        assert next_attempt(times, adapt=True) == f"next with {memory_saving(times).name}"
