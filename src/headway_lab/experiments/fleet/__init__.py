"""A fleet of nodes in virtual time: the experiments on prediction rings (Buddhika et al., section 5)."""
