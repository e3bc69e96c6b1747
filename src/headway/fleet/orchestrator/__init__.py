"""Places queries on nodes and drives their moves. Messages in, orders out; it knows no clock, wire or store itself."""
