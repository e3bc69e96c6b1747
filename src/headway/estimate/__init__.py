"""History becomes numbers. Pure values: every update returns a new estimate."""
