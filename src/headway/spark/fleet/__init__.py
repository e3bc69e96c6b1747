"""What a fleet needs of Spark: queries hosted under a runtime, and the checkpoints of their incarnations."""
