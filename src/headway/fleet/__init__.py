"""Many Spark applications as one: nodes that host queries, and an orchestrator that places and moves them."""
