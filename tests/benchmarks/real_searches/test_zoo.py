import optuna

from benchmarks.real_searches.zoo import ppo_arguments, sampled


def test_what_is_drawn_reaches_ppo_number_by_number() -> None:
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=3))
    for _ in range(50):
        trial = study.ask()
        drawn = sampled(trial)
        assert drawn == trial.params
        given = ppo_arguments(drawn)
        for name in ("batch_size", "n_steps", "clip_range", "n_epochs", "learning_rate", "ent_coef", "max_grad_norm"):
            assert given[name] == drawn[name]
        assert (given["gamma"], given["gae_lambda"]) == (1 - drawn["one_minus_gamma"], 1 - drawn["one_minus_gae_lambda"])
        layers = {"tiny": [64], "small": [64, 64], "medium": [256, 256]}[drawn["net_arch"]]
        assert given["policy_kwargs"] == {"net_arch": {"pi": layers, "vf": layers}, "activation_fn": drawn["activation_fn"]}
        study.tell(trial, 0.0)
