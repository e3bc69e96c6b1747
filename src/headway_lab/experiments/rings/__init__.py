"""How well prediction rings foresee arrival rates, and what a round of placement costs."""
