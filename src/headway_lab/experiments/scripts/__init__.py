"""Random scripts of bad days, held against the laws: in virtual time and on real Spark."""
