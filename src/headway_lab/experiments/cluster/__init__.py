"""Executors of a real cluster killed at random moments."""
