"""How long a cold start takes until windows come out on time."""
