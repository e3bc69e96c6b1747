"""Moves of queries between nodes: many schedules of faults in virtual time."""
