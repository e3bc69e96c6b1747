"""The ordered merge: the same rows in many interleavings, and what it costs."""
