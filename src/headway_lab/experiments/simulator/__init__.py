"""The Klink paper at its own scale, the ladder to ten thousand queries, and the simulator against live runs."""
