"""Numbers become decisions: pure, one policy in one file, one folder for each question."""
