"""The questions that a runtime asks: whose batch runs next, how long to wait for stragglers, how much to take."""
