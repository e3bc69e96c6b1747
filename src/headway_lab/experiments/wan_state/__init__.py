"""State over a shaped link: how long it takes, what needs not be sent, and which target it should go to."""
