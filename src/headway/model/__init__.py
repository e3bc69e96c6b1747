"""Immutable values that every other room speaks in. Imports nothing of ours but the errors."""
