"""Beats found in real electrocardiograms, against the marks of cardiologists."""
