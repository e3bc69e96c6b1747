"""A wide area in virtual time: the experiments on WASP (Jonathan, Chandra, Weissman, section 8)."""
