"""Many places: sites, links, and plans over them."""
