"""Pieces of a geo pipeline as streaming queries of a site."""
