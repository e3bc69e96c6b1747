"""Claims, experiments, ledger, report: what we say about speed, and what we saw."""
