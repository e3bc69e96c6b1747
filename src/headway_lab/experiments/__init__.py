"""One folder an experiment: what is claimed, how it is run, its figures and its command."""
