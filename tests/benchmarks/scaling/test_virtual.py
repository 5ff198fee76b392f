"""A search in virtual time runs the driver's own code, with as many trials at once as there are slots."""

from pathlib import Path

from benchmarks.scaling.made import experiment
from benchmarks.scaling.virtual import search


def test_it_runs_trials_to_their_ends(tmp_path: Path) -> None:
    made = experiment(tmp_path, sampler="random", scheduler="none", trials=3, concurrency=2)
    spent = search(made, 2, lambda so_far, begun: False, updates=1)
    assert spent.counts["start"] == spent.counts["end"] == 3
    assert spent.counts["evaluation"] == 3 * 20
    assert spent.virtual > 20 * 10.0
