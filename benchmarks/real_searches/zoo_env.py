"""Registers an environment of one's own, as the zoo's `--gym-packages` wants it: the zoo knows environments by ids alone."""

import os

import gymnasium as gym

from benchmarks.real_searches.zoo_search import OWN_ID, VARIABLE
from envs.gym.source import Source

gym.register(OWN_ID, entry_point=Source(os.environ[VARIABLE]).make)
