"""How a query changes its node, or its code, without losing a batch: a protocol of records, orders and receipts. Pure."""
