"""Commands that the laboratory adds to `headway`."""
