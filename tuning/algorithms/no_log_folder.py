"""Algorithms of RLlib that make no folder for logs."""

from __future__ import annotations

from typing import Any


class NoLogFolder:
    """Mixin before an `Algorithm`. By itself RLlib makes an empty folder in `~/ray_results` for each that is built."""

    _logdir: Any

    def _setup_logdir(self) -> None:
        """Replaces a method of Ray Tune's `Trainable`."""
        self._logdir = None
