"""What patience does to recorded streams."""
