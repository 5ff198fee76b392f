"""The batch backend: CityLearn's physics for many copies of a scenario at once, compiled.

`tables` holds a scenario year as arrays, `arrays` joins years, and `kernel` steps any number of copies over them with
CityLearn's own rounding. `simulator` is the interface to all of them, and `one_copy` the same for a single run.
"""
