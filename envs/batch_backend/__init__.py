"""The batch backend: CityLearn's physics for many copies of a scenario at once, compiled.

`tables` freezes what CityLearn reads and derives of a scenario year into arrays, `kernel` steps any number of
copies over them with CityLearn's own rounding, `simulator` is what the rest sees of both.
"""
