"""The only room that imports pyspark: control source, watermarks, observation, runtime."""
