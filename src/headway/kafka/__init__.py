"""A real Kafka on this machine: its jars, a broker, topics, and producers that replay what was recorded."""
