"""The laboratory: how we know what we say of Headway. The product imports nothing of it."""
