"""The fleet in virtual time: many nodes, thousands of computations, the placement question asked as live."""
