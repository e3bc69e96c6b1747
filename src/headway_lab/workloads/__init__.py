"""Streams whose true answer is known, so that what a query emits can be checked."""
