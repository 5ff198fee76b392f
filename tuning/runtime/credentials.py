"""Credentials stay in the environment of processes, which other users cannot read."""

from __future__ import annotations

import re

CREDENTIAL = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL")


def keep_credentials() -> None:
    """Keep Ray Tune from sending credentials of this process to trials, as Ray would write them into its logs.

    Trials have those of their node, by its role or its environment. On this machine alone they inherit those of this process.
    """
    from ray.tune.execution import class_cache

    sent = class_cache.ENV_VARS_TO_PROPAGATE
    sent.difference_update({name for name in sent if CREDENTIAL.search(name)})
