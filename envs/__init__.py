"""Scenarios and the environments that policies are trained and judged on."""
