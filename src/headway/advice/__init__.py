"""Advice on streaming queries as they are: what Spark reported of them, looked at by a list of checks."""
