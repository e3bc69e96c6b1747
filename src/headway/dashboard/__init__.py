"""What people see: pages, a terminal table and metrics, all read from the journal and from the status of a runtime."""
