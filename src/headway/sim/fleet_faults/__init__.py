"""The fleet in virtual time, under faults: the live orchestrator and protocol around models of all the rest."""
