"""Gymnasium environments as tasks, beside the sites of CityLearn."""
