"""A wide area in virtual time: sites, links that change, and pipelines over them."""
