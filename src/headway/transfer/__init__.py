"""A folder goes from one site to another over a thin link: only what changed, compressed, and on from where it was cut."""
