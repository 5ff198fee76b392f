"""What good trials share."""

from results.report.figures.parallel import parallel
from tests.results.report.figures.effects import effects


def test_what_good_trials_share_is_said_if_others_lack_it() -> None:
    assert parallel(effects(), []).answer == "The best 5 of 50 trials all have shared=True and gamma from 0.900 to 0.940."
    assert parallel(effects(8), []).answer == "It cannot be said from 8 trials; it takes at least 10."
    apart = effects()
    apart.loc[(apart["trial"] < 5) & (apart["hyperparameter"] == "gamma"), "position"] = [0.0, 1.0, 0.5, 0.2, 0.8]
    apart.loc[(apart["trial"] == 2), "label"] = "False"
    assert parallel(apart, []).answer.startswith("Nothing that the others lack:")
