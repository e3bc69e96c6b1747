"""What queries cost that have nothing to do."""
