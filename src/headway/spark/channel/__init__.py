"""The control channel: the source that a query is gated by, its line to the gate, and the words that go over it.

Only this room knows what the JVM and Python say to each other.
"""
