"""Checkpoints from outside: what is in them, and how their state is spread over another number of partitions."""
