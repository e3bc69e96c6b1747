"""The driver killed at random moments."""
