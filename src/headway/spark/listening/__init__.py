"""What Spark tells of finished batches: read here, and handed on as values."""
