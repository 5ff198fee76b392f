"""Parameters of the generated sites."""

from envs.scenarios.iquitos.site import SITES


def test_sockets_of_the_sites_are_those_that_their_documentation_counts() -> None:
    assert sum(kind.count for kind in SITES["iquitos"].sockets) == 128
    assert sum(kind.count for kind in SITES["iquitos-38"].sockets) == 38
