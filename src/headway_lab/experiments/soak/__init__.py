"""Queries fed from Kafka, minute after minute."""
