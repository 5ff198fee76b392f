"""CityLearn as a backend. Only this folder reads CityLearn's objects.

`simulator` steps a year and `pool` keeps simulators open. `series` and `layout` read a year's series and observations.
`tables`, with `devices`, `meters`, `schedule` and `observations`, fills the batch backend's tables. `rule_controllers` reads
the actions of CityLearn's own controllers.
"""
