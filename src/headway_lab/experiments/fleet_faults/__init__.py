"""Parts of a live fleet killed, frozen and cut off under steady load, and every window compared with the truth."""
