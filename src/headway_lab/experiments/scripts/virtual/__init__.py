"""Random scripts against a model of Spark: what users can rely on (docs/semantics.md), attacked in virtual time."""
