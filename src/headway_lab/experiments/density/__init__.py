"""How many queries a machine holds under a limit of latency."""
