"""Many sorted streams into one, in memory: gates that many threads write to and read from."""
