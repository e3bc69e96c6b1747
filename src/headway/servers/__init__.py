"""Servers of our own on this machine: one process each, which ends when it should."""
