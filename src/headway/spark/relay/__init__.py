"""Relays: a stage writes its results to a topic, with how far they are complete; the next stage goes by that."""
