"""Forecasts of a site's series for the next hours, from what is known at an hour."""
