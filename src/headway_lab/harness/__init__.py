"""Ledger, meter, claims, verdicts, report: what all experiments share."""
