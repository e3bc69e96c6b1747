"""A partition that stops for a while and comes back."""
