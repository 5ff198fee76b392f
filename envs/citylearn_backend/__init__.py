"""CityLearn as a backend. Only this folder reads CityLearn's objects."""
