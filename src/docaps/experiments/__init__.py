"""Experiments: chains of runs, and whatever needs a model and leaves files for the report."""
