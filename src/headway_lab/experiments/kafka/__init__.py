"""Policies side by side on queries that read from a real broker."""
