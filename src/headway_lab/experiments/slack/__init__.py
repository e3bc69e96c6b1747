"""Slack thresholds: the tuners of the paper on Slack-ScaleGate, and ours beside them."""
