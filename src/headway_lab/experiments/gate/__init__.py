"""What a slack gate costs to read, and a join behind it."""
