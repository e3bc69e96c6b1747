"""A pipeline in three stages on three nodes: what it gains if they tell each other how far they are."""
