"""Approximate answers: the claims of the thesis on Aion, simulated and live, and a demo."""
