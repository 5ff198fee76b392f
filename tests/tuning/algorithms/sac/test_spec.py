"""SAC as the registry lists it."""

from search_spaces.sac import SAC as SPACE
from tuning.algorithms.memory import Problem, Workload
from tuning.algorithms.sac.spec import SAC


def test_it_has_its_own_name_and_space() -> None:
    assert (SAC.name, SAC.space) == ("sac", SPACE)


def test_what_makes_the_buffer_smaller_is_its_size() -> None:
    terms = SAC.memory(SAC.preset("default"), Workload(8, 100_000, 4, 12, gpu=False), Problem(28, 1, 28))
    assert next(term.lever for term in terms if term.name == "replay buffer") == "buffer_size"
