"""Collecting transitions from many copies of a site, with scaled observations and rewards."""
