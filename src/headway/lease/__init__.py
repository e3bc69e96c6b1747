"""One query per checkpoint, wherever the checkpoint is: the right to use it, how it is given, kept and lost."""
