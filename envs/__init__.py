"""Scenarios, and the environments that policies are trained and judged on.

Each part imports only parts of the levels above it in this list:

1. `cache`: files that are made once and kept.
2. `scenarios`: sites with their data, and how their years are split.
3. `objective`: the value of a run: series, reward, KPIs, checks, evaluations.
4. `seen`: what policies may see beside CityLearn's own observations.
5. `current_hour`, `observation`: the site as environments, policies and rules see it, on any backend.
6. `forecasts`, `district`: the next hours of a site's series, from what is known at an hour; which part of what a site shows
   and moves belongs to which building.
7. `batch_backend`: steps many copies of a site at once, over arrays.
8. `planning`: model predictive control, which plans the next hours by a linear programme.
9. `citylearn_backend`: steps a site by CityLearn, and reads CityLearn's objects into the arrays of the batch backend.
10. `environments`: gymnasium environments over both backends, with what else policies see; what a site can have.
11. `gym`: any environment of Gymnasium's as what is to be solved: its source, spaces and episodes.
12. `task`: what is to be solved, as one value: the one thing of `envs` that what is above it needs.
13. `yardsticks`: baselines, rules, runs of model predictive control and the bound that policies are compared with.
14. `preview`, `convert`: commands that draw a generated year, and make files for CityLearn 3 of older ones.

`citylearn_backend` stands after `batch_backend`, because it fills the tables that the latter steps.
"""
