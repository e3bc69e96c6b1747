"""A fleet on this machine: nodes on parts of cores, queries that wake up, and a program that eats a share of a node."""
