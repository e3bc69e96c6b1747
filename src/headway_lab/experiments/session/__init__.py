"""What each setting of the tuned session gains."""
