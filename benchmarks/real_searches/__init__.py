"""Real searches with equal wall time or steps on real sites, and a judgement of what they find.

Run: `python -m benchmarks.real_searches --help`. A cell is one search: a site, a method and a seed. Each runs in a process of
its own. A finished cell is a row in `cells.parquet`, and is not run again. Then each winner is trained anew with fresh seeds by
its own library, and rated on the test split.

| module | content |
|---|---|
| `__main__` | the command |
| `records` | cells, winners and their Parquet files |
| `pool` | processes of jobs, with their cores and limits |
| `job` | one job in its process: prepare a site, search, train again, bound |
| `sites` | sites by name, and their cache |
| `methods` | the methods by name |
| `ours`, `ray_tune`, `sb3_search` | a search by each |
| `experiments` | what an experiment's folder says of its winner |
| `zoo` | what rl-baselines3-zoo samples for PPO |
| `zoo_search`, `ray_sb3` | in environments: the zoo itself, and Ray Tune over Stable-Baselines3 |
| `zoo_env` | an environment of one's own, registered for the zoo |
| `same_step`, `sb3_env`, `sb3_training` | Stable-Baselines3 on the batch environments |
| `again` | a winner trained anew and rated |
| `tables` | the comparison |
"""
