"""Environments for training and evaluation, over either backend."""
