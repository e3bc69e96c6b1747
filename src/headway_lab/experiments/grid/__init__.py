"""A dozen loads from idle to saturated, beside the best that Spark does by itself."""
