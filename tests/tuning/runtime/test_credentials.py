"""Ray Tune sends no credentials to trials: Ray writes what is sent into its logs."""

import pytest
from ray.tune.execution import class_cache

from tuning.runtime.credentials import keep_credentials


def test_tune_sends_the_rest_of_its_variables_and_no_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    before = {"RAY_CHDIR_TO_TRIAL_DIR", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SECURITY_TOKEN", "AWS_SESSION_TOKEN"}
    # Another name or type in a newer Ray would be noticed here.
    assert {*class_cache.ENV_VARS_TO_PROPAGATE, *before} >= {"RAY_CHDIR_TO_TRIAL_DIR"}
    monkeypatch.setattr(class_cache, "ENV_VARS_TO_PROPAGATE", set(before))
    keep_credentials()
    assert {"RAY_CHDIR_TO_TRIAL_DIR"} == class_cache.ENV_VARS_TO_PROPAGATE
    for name in before:
        monkeypatch.setenv(name, "of this process")
    actor = class_cache._ActorClassCache().get(type("Trial", (), {}))
    sent = actor._default_options["runtime_env"]["env_vars"]
    assert "RAY_CHDIR_TO_TRIAL_DIR" in sent
    assert not {name for name in sent if name.startswith("AWS_")}
