"""What an orchestrator costs that has a thousand nodes."""
