"""The same policies in virtual time: engines, workloads and experiments at the papers' scale and beyond."""
