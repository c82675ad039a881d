"""Runs scenarios: simulation, emulation, replay and prediction, with a cache of results."""
