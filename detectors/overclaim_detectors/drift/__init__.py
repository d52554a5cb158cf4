"""Drift: where the behaviour of agents and tools left its reference, with a stated budget of false alerts."""
