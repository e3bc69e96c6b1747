"""How often a predicted interval holds the next watermark."""
