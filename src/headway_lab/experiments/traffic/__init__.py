"""Congestion in a city: tuners of slack on live Spark, and a demo."""
