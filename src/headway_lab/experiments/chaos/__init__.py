"""Faults of all kinds, mixed, at random moments, under real queries; every row must be in a result or kept as late, once."""
