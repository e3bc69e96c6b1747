"""The same scripts on real Spark, beside stock Spark: what came out is held against the laws, and against stock."""
