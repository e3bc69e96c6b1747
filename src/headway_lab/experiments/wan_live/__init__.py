"""A live wide area: three sites on this machine, rates doubled and a link halved in the middle of a run."""
