"""The batch backend: CityLearn's physics for many copies of a scenario at once, compiled, with CityLearn's own rounding."""
