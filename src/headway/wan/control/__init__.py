"""A wide-area controller: what runs where, what is seen of it, what is decided, and how that is carried out."""
