"""The promises by version of Spark; `tools/matrix.py` measures them."""
