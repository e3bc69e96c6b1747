"""Policies side by side on the Yahoo workload: the claims of the Klink paper, live."""
