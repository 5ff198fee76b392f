"""CityLearn itself as a backend, and all that knows its inside."""
